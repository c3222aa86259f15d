"""A finished run as a policy: what its checkpoint alone makes agents do, on bars of its kind."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from tradingbot.agents.loading import load_policy
from tradingbot.agents.policy import Policy
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import StorageError
from tradingbot.envs.population import PRIVATE_NAMES
from tradingbot.envs.population.layout import action_spec, market_table
from tradingbot.envs.world import World
from tradingbot.learning.trainer_tensors import tensors_below
from tradingbot.networks.actor_layout import ActorLayout
from tradingbot.networks.encoders.catalogue import build_encoder, encoder_preset
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.view import TableView
from tradingbot.runs import Checkpoint, RunDirectory, latest_good, require_fit
from tradingbot.runs.manifest import Label
from tradingbot.runs.record import DataIdentity
from tradingbot.training.checkpoint_writer import FROZEN_ENCODER, LEARNING_ENCODER
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping
from tradingbot.training.preparation import kept_embeddings
from tradingbot.training.prepared_setup import torch_threads

_ACTING: tuple[Label, ...] = ("selected", "best", "final")


class ActingData(Protocol):
    """What a policy is opened on; `TrainingData` is such."""

    @property
    def world(self) -> World:
        """What is traded."""

    @property
    def identity(self) -> DataIdentity:
        """Columns, agents and scale, which must be the run's."""


def open_policy(
    run: RunDirectory,
    data: ActingData,
    bars: IndexRange | None = None,
    *,
    workspace: Path | None = None,
) -> Policy:
    """Return the policy of a run: its selected checkpoint; else its best; else its final one.

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
    config, checkpoint = config_of_mapping(run.record.config), acting_checkpoint(run)
    identity = data.identity
    require_fit(
        checkpoint.manifest,
        feature_ids=identity.feature_ids,
        agents=identity.agents,
        normaliser_sha256=identity.normaliser_sha256,
    )
    layout = actor_layout(config)
    seen = _embeddings(checkpoint, config, market_table(data.world), workspace)
    if bars is not None:
        seen = seen[:, bars.start : bars.stop].contiguous()
    return load_policy(checkpoint.agent, layout, TableView(seen), len(identity.agents))


def acting_checkpoint(run: RunDirectory) -> Checkpoint:
    """Return what a run acts from: its selected checkpoint; else its best; else its final one.

    Raises:
        StorageError: If there is none, or it is damaged.
    """
    for label in _ACTING:
        checkpoint, skipped = latest_good(run, to_resume=False, label=label)
        if skipped:  # another checkpoint would trade differently
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


def actor_layout(config: TrainConfig) -> ActorLayout:
    """Say how a run's actor is stored, and what its outputs mean."""
    section = config.learner
    space, private = action_spec(config.task.rules), config.task.private or PRIVATE_NAMES
    return section.spec.actor_layout(section.settings, space, private)


def _embeddings(
    checkpoint: Checkpoint, config: TrainConfig, table: Tensor, workspace: Path | None
) -> Tensor:
    """Return what agents see of a table (N, T, F): itself, or embeddings (N, T, D)."""
    encoder = acting_encoder(checkpoint, config, table.shape[-1])
    if encoder is None:
        return table
    with torch_threads(config.threads):  # the same bits as in training, and kept by the same name
        return kept_embeddings(encoder, table, workspace)


def acting_encoder(checkpoint: Checkpoint, config: TrainConfig, n_features: int) -> Encoder | None:
    """Return the encoder that agents see the market through; None where they see rows as they are.

    Args:
        checkpoint: That they act from.
        config: Of the run.
        n_features: F, columns of the table.
    """
    settings = encoder_preset(config.encoder.preset)
    if settings.kind == "row":
        return None
    prefix = LEARNING_ENCODER if config.encoder.trainable else FROZEN_ENCODER
    encoder = build_encoder(settings, n_features, torch.Generator())
    encoder.load_state_dict(tensors_below(checkpoint.agent, prefix))
    return encoder.requires_grad_(False)
