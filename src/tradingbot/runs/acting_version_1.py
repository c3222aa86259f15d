"""How checkpoints of manifest version 1 act: read from the run's record, which names it all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tradingbot.domain.action import Action
from tradingbot.domain.errors import StorageError
from tradingbot.runs.acting import (
    FROZEN_ENCODER,
    LEARNING_ENCODER,
    ActingRecord,
    ActionRecord,
    ActorRecord,
    EncoderRecord,
    FeatureRecord,
)
from tradingbot.runs.record import RunRecord


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
        from tradingbot.networks.encoders.catalogue import encoder_preset

        learned = bool(encoder["trainable"])
        seen = EncoderRecord(
            preset=preset,
            config=vars(encoder_preset(preset)),
            n_features=len(feature_ids),
            learned=learned,
            prefix=LEARNING_ENCODER if learned else FROZEN_ENCODER,
        )
    return ActingRecord(
        actor=_actor(config["learner"], rules, tuple(config["task"]["private"])),
        action=ActionRecord(rules=rules["action"], limits=rules["limits"]),
        encoder=seen,
        features=tuple(FeatureRecord(id=each, sha256=None) for each in feature_ids),
        scalers=(),
        feature_bound=None,
        probability_model=config["task"]["probabilities"],
        threads=config["threads"],
    )


def _actor(
    learner: Mapping[str, Any], rules: Mapping[str, Any], private: tuple[str, ...]
) -> ActorRecord:
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
    return ActorRecord(
        prefix="heads.actor." if name == "ppo" else "actor.",
        head=settings["actor"],
        n_outputs=len(Action) if is_discrete else n_outputs,
        squash=None if is_discrete else {**squash, **bounds},
        private=private or _all_private(),
    )


def _all_private() -> tuple[str, ...]:
    from tradingbot.market.observation import PRIVATE_FEATURES

    return tuple(feature.name for feature in PRIVATE_FEATURES)
