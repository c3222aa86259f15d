"""Reading what a checkpoint says of acting: the actor's layout, the encoder with its weights.

Manifests of version 1 do not say how to act: it is read from the run's record, which names it all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tradingbot.agents.options.rules import OPTION_NAMES, OptionRules
from tradingbot.domain.action import Action
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.market.private_features import PRIVATE_FEATURES
from tradingbot.networks.actor_layout import ActorLayout, Squash
from tradingbot.networks.encoders.catalogue import build_encoder, encoder_preset
from tradingbot.networks.encoders.encoder import Encoder, EncoderConfig
from tradingbot.networks.head_config import HeadConfig
from tradingbot.runs import acting
from tradingbot.runs.acting import ActingRecord
from tradingbot.runs.loading import Checkpoint
from tradingbot.runs.record import RunRecord
from tradingbot.runs.tensors import final_hash


def read_layout(acting: ActingRecord) -> ActorLayout:
    """Return how an actor is read.

    Raises:
        ConfigError: If this version knows no such actor.
    """
    actor = acting.actor
    head = _built(HeadConfig, actor.head, "actor")
    squash = None if actor.squash is None else _built(Squash, actor.squash, "squash")
    layout = (actor.prefix, head, actor.n_outputs, squash, actor.private, actor.n_components)
    return ActorLayout(*layout)


def read_options(acting: ActingRecord) -> tuple[ActorLayout, OptionRules] | None:
    """Return how the controller is read, and the figures of the options; None without options.

    Raises:
        ConfigError: If this version knows no such controller or figure.
    """
    record = acting.options
    if record is None:
        return None
    head = _built(HeadConfig, record.head, "controller")
    controller = ActorLayout(record.prefix, head, len(OPTION_NAMES), None, record.private)
    return controller, _built(OptionRules, record.rules, "options")


def read_encoder(checkpoint: Checkpoint, acting: ActingRecord) -> Encoder | None:
    """Return the frozen encoder of a checkpoint; None where rows are seen as they are.

    Raises:
        ConfigError: If this version knows no such encoder.
        StorageError: If its weights are not those that the manifest names.
    """
    record = acting.encoder
    if record is None:
        return None
    config = _built(EncoderConfig, record.config, "encoder")
    weights = {
        name.removeprefix(record.prefix): tensor
        for name, tensor in checkpoint.agent.items()
        if name.startswith(record.prefix)
    }
    if record.sha256 and final_hash(weights) != record.sha256:
        rule = "an encoder must be the one that the manifest names"
        remedy = "Act from another checkpoint, or train again"
        raise StorageError(rule, was="other weights", where=str(checkpoint.folder), remedy=remedy)
    encoder = build_encoder(config, record.n_features, torch.Generator())
    try:
        encoder.load_state_dict(weights)
    except RuntimeError as e:
        raise StorageError(
            "an encoder's tensors must fit its configuration",
            was=str(e).splitlines()[-1].strip(),
            where=str(checkpoint.folder),
            remedy="Act from another checkpoint, or train again",
        ) from e
    return encoder.requires_grad_(False)


def _built(kind: type[Any], values: dict[str, Any], word: str) -> Any:
    """Build a settings class of plain values: lists become tuples."""
    plain = {
        name: tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
        for name, value in values.items()
    }
    try:
        return kind(**plain)
    except TypeError as e:
        rule = f"{word} of a checkpoint must be one that this version knows"
        raise ConfigError(rule, was=str(e), remedy="Update tradingbot, or train again") from e


def acting_of_version_1(record: RunRecord) -> ActingRecord:
    """Say how the checkpoints of a run act whose manifests do not.

    The scaler's own record was not kept then: `scalers` is empty, and the manifest's
    `normaliser_sha256` is what inputs are compared by.

    Raises:
        StorageError: If the record does not describe a learner of that time.
    """
    try:
        return _read(record.config, record.data.feature_ids)
    except (KeyError, TypeError) as e:
        raise StorageError(
            "run of version 1 must name its learner, task and encoder",
            was=f"{type(e).__name__}: {e}",
            where=record.id,
            remedy="Restore run.json, or train again",
        ) from e


def _read(config: Mapping[str, Any], feature_ids: Sequence[str]) -> ActingRecord:
    rules, encoder = config["task"]["rules"], config["encoder"]
    preset = encoder["preset"]
    seen = None
    if preset != "row":
        learned = bool(encoder["trainable"])
        seen = acting.EncoderRecord(
            preset=preset,
            config=vars(encoder_preset(preset)),
            n_features=len(feature_ids),
            learned=learned,
            prefix=acting.LEARNING_ENCODER if learned else acting.FROZEN_ENCODER,
        )
    return ActingRecord(
        actor=_actor(config["learner"], rules, tuple(config["task"]["private"])),
        action=acting.ActionRecord(rules=rules["action"], limits=rules["limits"]),
        encoder=seen,
        features=tuple(acting.FeatureRecord(id=each, sha256=None) for each in feature_ids),
        scalers=(),
        feature_bound=None,
        probability_model=config["task"]["probabilities"],
        threads=config["threads"],
    )


def _actor(
    learner: Mapping[str, Any], rules: Mapping[str, Any], private: tuple[str, ...]
) -> acting.ActorRecord:
    """Say how the three learners of that time stored their actors."""
    name = learner["name"]
    if name not in ("direct", "ppo", "sac"):
        raise KeyError(f"learner {name}")
    settings = learner[name]
    space = rules["action"]["space"]
    low = 0.0 if space == "target" and not rules["limits"]["allow_short"] else -1.0
    n_outputs, squash = 2, {"kind": "tanh", "gain": 1.0}
    if name == "direct":
        n_outputs, squash = 1, {"kind": "sigmoid", "gain": settings["squash_gain"]}
    bounds = {"low": low, "high": 1.0, "levels": settings.get("act_levels", 0)}
    is_discrete = space == "discrete"
    return acting.ActorRecord(
        prefix="heads.actor." if name == "ppo" else "actor.",
        head=settings["actor"],
        n_outputs=len(Action) if is_discrete else n_outputs,
        squash=None if is_discrete else {**squash, **bounds},
        private=private or tuple(feature.name for feature in PRIVATE_FEATURES),
    )
