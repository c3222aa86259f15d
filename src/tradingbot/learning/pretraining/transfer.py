"""Weights of another network into an encoder, where names and shapes agree; only if asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tradingbot.domain.errors import ConfigError

TRANSFER_WARNING = (
    "transferred features may be in-sample: if their network was trained on bars that are now "
    "validated or tested on, every figure on those bars is too good"
)


@dataclass(frozen=True)
class TransferReport:
    """What a transfer did; names are those of the encoder, unless said otherwise."""

    copied: tuple[str, ...]
    other_shape: tuple[str, ...]
    """In both, with different shapes or kinds of number; the encoder's were kept."""
    missing: tuple[str, ...]
    """The source has none of that name; the encoder's were kept."""
    unused: tuple[str, ...]
    """Names in the source that the encoder does not have."""
    copied_frac: float
    """Share of the encoder's numbers that came from the source."""
    warning: str = TRANSFER_WARNING
    """To be shown wherever the result is."""


def transfer_weights(
    source: Mapping[str, Tensor], encoder: nn.Module, *, prefix: str = ""
) -> TransferReport:
    """Copy what fits from a state into an encoder.

    Args:
        source: Named tensors, e.g. of a supervised network.
        encoder: Changed in place; what does not fit keeps its own weights.
        prefix: Tensors of the source whose names do not begin with it are not looked at.

    Raises:
        ConfigError: If nothing fits, or a tensor that fits is not finite; nothing is changed then.
    """
    own = encoder.state_dict()
    offered = {key.removeprefix(prefix): t for key, t in source.items() if key.startswith(prefix)}
    both = [name for name in own if name in offered]
    copied = [name for name in both if _same_form(own[name], offered[name])]
    if not copied:
        raise ConfigError(
            "a transfer must fit the encoder in at least one tensor",
            was=f"{len(offered)} tensors offered, {len(both)} with a name in common",
            where=f"prefix {prefix!r}" if prefix else None,
            remedy="Use the architecture and sizes of the source, or begin without a transfer",
        )
    for name in copied:
        if not bool(torch.isfinite(offered[name]).all()):
            raise ConfigError("transferred weights must be finite", was="NaN or ∞", where=name)
    for name in copied:
        own[name].copy_(offered[name])
    total = sum(tensor.numel() for tensor in own.values())
    return TransferReport(
        copied=tuple(copied),
        other_shape=tuple(name for name in both if name not in copied),
        missing=tuple(name for name in own if name not in offered),
        unused=tuple(name for name in offered if name not in own),
        copied_frac=sum(own[name].numel() for name in copied) / total,
    )


def _same_form(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype
