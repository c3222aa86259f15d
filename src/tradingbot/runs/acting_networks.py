"""Networks of the record of acting: the actor's layout and the encoder, with its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.networks.actor_layout import ActorLayout, Squash
from tradingbot.networks.encoders.catalogue import build_encoder
from tradingbot.networks.encoders.encoder import Encoder, EncoderConfig
from tradingbot.networks.heads import HeadConfig
from tradingbot.runs.acting import ActingRecord
from tradingbot.runs.loading import Checkpoint
from tradingbot.runs.tensors import final_hash


def read_layout(acting: ActingRecord) -> ActorLayout:
    """Return how an actor is read.

    Raises:
        ConfigError: If this version knows no such actor.
    """
    actor = acting.actor
    head = _built(HeadConfig, actor.head, "actor")
    squash = None if actor.squash is None else _built(Squash, actor.squash, "squash")
    return ActorLayout(actor.prefix, head, actor.n_outputs, squash, actor.private)


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
        raise StorageError(
            "an encoder must be the one that the manifest names",
            was="other weights",
            where=str(checkpoint.folder),
            remedy="Act from another checkpoint, or train again",
        )
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
        raise ConfigError(
            f"{word} of a checkpoint must be one that this version knows",
            was=str(e),
            remedy="Update tradingbot, or train again",
        ) from e
