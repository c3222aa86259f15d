"""Auxiliary tasks of an encoder: their weights, pre-training by them, and a loss beside others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from tradingbot.domain.checks import CheckedFields, bounded, require, require_kinds


@dataclass(frozen=True)
class AuxiliaryWeights:
    """Weight of each task in the loss; 0 switches it off.

    Every loss is divided by that of the best constant answer, so that weights compare like with
    like: 1 means that nothing is known, whatever the task.
    """

    next_return: float = bounded(0.2, "[0, inf)")
    """Return of the next bar, in units of past volatility."""
    volatility: float = bounded(0.15, "[0, inf)")
    """Volatility of the next bars relative to the past."""
    volume_class: float = bounded(0.1, "[0, inf)")
    """Volume of the next bar: low, usual or high."""
    expert_action: float = bounded(0.3, "[0, inf)")
    """What the rule expert does at this bar: sell, hold or buy."""
    regime: float = bounded(0.25, "[0, inf)")
    """Trend and volatility class of the next bars."""

    def __post_init__(self) -> None:
        """Refuse weights that leave nothing to learn."""
        require_kinds(self)
        require(bool(self.active), "next_return or another weight must be above 0", self)

    @property
    def active(self) -> Mapping[str, float]:
        """Weights above 0, by name of the task."""
        weights = {field.name: float(getattr(self, field.name)) for field in fields(self)}
        return {name: weight for name, weight in weights.items() if weight > 0.0}


@dataclass(frozen=True)
class PretrainingConfig(CheckedFields):
    """Length, size and pace of pre-training."""

    weights: AuxiliaryWeights = AuxiliaryWeights()
    updates: int = bounded(300, ">= 1")
    """Optimiser steps at most; the learning rate falls to 0 over them."""
    segments: int = bounded(32, ">= 1")
    """Runs of consecutive bars per update."""
    segment_bars: int = bounded(256, ">= 1")
    """Bars per run that are learned from; the encoder's lookback comes before them."""
    shards: int = bounded(1, "[1, 1024]")
    """Parts that the gradient of an update is added up from, at most `segments`: on a cluster they
    are computed side by side, else by turns, to the same bits; another number rounds otherwise."""
    learning_rate: float = bounded(1e-3, "(0, inf)")
    """Highest rate of AdamW; cosine to 0."""
    warm_up_updates: int = bounded(20, ">= 0")
    """Updates in which the rate rises from 0."""
    weight_decay: float = bounded(0.05, "[0, inf)")
    """Decoupled weight decay of AdamW (Loshchilov & Hutter 2019)."""
    max_gradient_norm: float = bounded(1.0, "> 0")
    """Norm that gradients are clipped to."""
    input_noise: float = bounded(0.0, "[0, inf)")
    """Standard deviation of noise added to the inputs in training, in units of scaled features."""
    held_out_frac: float = bounded(0.15, "(0, 1)")
    """Last part of the training period, kept for early stopping; never learned from."""
    evaluate_every: int = bounded(25, ">= 1")
    """Updates between two looks at the held-out part."""
    patience: int = bounded(6, ">= 1")
    """Looks without a better loss after which training ends."""
    score_blocks: int = bounded(16, ">= 4")
    """Stretches of time that intervals are estimated from (jackknife)."""
    mixed_precision: bool = False
    """Encode in bfloat16; weights, losses and optimiser stay in float32."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.shards <= self.segments, "shards must be at most segments", self)


@dataclass(frozen=True)
class AuxiliaryLossConfig(CheckedFields):
    """Auxiliary tasks beside what agents learn, where the encoder learns with them."""

    weight: float = bounded(0.0, "[0, inf)")
    """Of the tasks' mean loss, in units of a constant answer's, beside the learner's own loss of an
    agent; 0 leaves the tasks out. They need an encoder that learns."""
    tasks: AuxiliaryWeights = AuxiliaryWeights()
    segments: int = bounded(8, ">= 1")
    """Runs of consecutive bars of the training part per step of the optimiser."""
    segment_bars: int = bounded(64, ">= 1")
    """Bars per run that are learned from; the encoder's lookback comes before them."""


PRETRAINING_PRESETS: Mapping[str, PretrainingConfig] = MappingProxyType(
    {
        "cpu": PretrainingConfig(updates=150),
        "gpu": PretrainingConfig(
            updates=200, segments=128, learning_rate=3e-4, mixed_precision=True
        ),
    }
)
"""`cpu` goes with the encoders `tiny` and `small`, `gpu` with `full`; more updates overfit."""
