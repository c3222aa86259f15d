"""A finished run as a policy: what its checkpoint alone makes agents do, on bars of its kind."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from tradingbot.agents.loading import ActorLayout, load_policy
from tradingbot.agents.network_policy import Squash
from tradingbot.agents.policy import Policy
from tradingbot.app.training.config_files import config_of_mapping
from tradingbot.app.training.configuration import TrainConfig
from tradingbot.app.training.data import TrainingData
from tradingbot.app.training.keeper import FROZEN_ENCODER
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import StorageError
from tradingbot.envs.population import PRIVATE_NAMES
from tradingbot.envs.population_layout import action_spec, market_table
from tradingbot.learning.trainer_tensors import tensors_below
from tradingbot.networks.embedding import embed_table, weights_hash
from tradingbot.networks.encoders.catalogue import build_encoder, encoder_preset
from tradingbot.networks.view import TableView
from tradingbot.runs import Checkpoint, RunDirectory, final_hash, latest_good, require_fit
from tradingbot.runs.embeddings import cached_embeddings
from tradingbot.runs.manifest import Label

EMBEDDINGS_FOLDER = "embeddings"
_ACTING: tuple[Label, ...] = ("judged", "best", "final")
_LEARNING_ENCODER = "view.encoder."


def open_policy(
    run: RunDirectory,
    data: TrainingData,
    bars: IndexRange | None = None,
    *,
    workspace: Path | None = None,
) -> Policy:
    """Return what a run's agents do, from its judged checkpoint; else its best; else its final one.

    Args:
        run: Of any learner and action space; the policy acts in the space of its rules.
        data: What is traded; `open_data` of the run's configuration, or other bars with the same
            columns, scale and agents.
        bars: Bars of the data's world that will be traded: cut the world to the same ones
            (`envs.world.between`). Encoders remember the bars before. All by default.
        workspace: Embeddings are kept there, so that they are computed once; nowhere by default.

    Raises:
        ConfigError: If features, scale or agents are not the run's.
        StorageError: If there is no such checkpoint, or it is damaged.
    """
    config, checkpoint = config_of_mapping(run.record.config), _acting_checkpoint(run)
    identity = data.identity
    require_fit(
        checkpoint.manifest,
        feature_ids=identity.feature_ids,
        agents=identity.agents,
        normaliser_sha256=identity.normaliser_sha256,
    )
    layout = _layout(config)
    seen = _embeddings(checkpoint, config, market_table(data.world), workspace)
    if bars is not None:
        seen = seen[:, bars.start : bars.stop].contiguous()
    return load_policy(checkpoint.agent, layout, TableView(seen), len(identity.agents))


def _acting_checkpoint(run: RunDirectory) -> Checkpoint:
    for label in _ACTING:
        checkpoint, skipped = latest_good(run, to_resume=False, label=label)
        if skipped:  # another checkpoint would trade otherwise: nobody asked for that
            raise StorageError(
                f"the {label} checkpoint of a run must be whole to act from",
                was=skipped[0],
                where=str(run.path),
                remedy=f"Go on with the run, which writes it anew: train --resume {run.id}",
            )
        if checkpoint is not None:
            return checkpoint
    raise StorageError(
        "run must have a checkpoint to act from",
        was="none",
        where=str(run.path),
        remedy=f"Go on with the run: train --resume {run.id}",
    )


def _layout(config: TrainConfig) -> ActorLayout:
    section = config.learner
    space, private = action_spec(config.task.rules), config.task.private or PRIVATE_NAMES
    if section.name == "direct":
        direct = section.direct
        levels, gain = direct.act_levels, direct.squash_gain
        squash = Squash("sigmoid", gain, space.low, space.high, levels)
        return ActorLayout("actor.", direct.actor, 1, squash, private)
    settings, prefix = (
        (section.ppo, "heads.actor.") if section.name == "ppo" else (section.sac, "actor.")
    )
    if space.kind == "discrete":
        return ActorLayout(prefix, settings.actor, space.n_actions, None, private)
    squash = Squash("tanh", 1.0, space.low, space.high, settings.act_levels)
    return ActorLayout(prefix, settings.actor, 2, squash, private)


def _embeddings(
    checkpoint: Checkpoint, config: TrainConfig, table: Tensor, workspace: Path | None
) -> Tensor:
    """Return what agents see of a table (N, T, F): itself, or embeddings (N, T, D)."""
    settings = encoder_preset(config.encoder.preset)
    if settings.kind == "row":
        return table
    prefix = _LEARNING_ENCODER if config.encoder.trainable else FROZEN_ENCODER
    encoder = build_encoder(settings, table.shape[-1], torch.Generator())
    encoder.load_state_dict(tensors_below(checkpoint.agent, prefix))
    if workspace is None:
        return embed_table(encoder, table)
    return cached_embeddings(
        workspace / EMBEDDINGS_FOLDER,
        weights_hash(encoder),
        final_hash({"table": table}),
        lambda: embed_table(encoder, table),
    )
