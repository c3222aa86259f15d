"""How an encoder is pre-trained: weights of the tasks, segments, optimiser, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from tradingbot.domain.checks import require, require_kinds


@dataclass(frozen=True)
class AuxiliaryWeights:
    """Weight of each task in the loss; 0 switches it off.

    Every loss is divided by that of the best constant answer, so that weights compare like with
    like: 1 means that nothing is known, whatever the task.
    """

    next_return: float = 0.2
    """Return of the next bar, in units of past volatility."""
    volatility: float = 0.15
    """Volatility of the next bars relative to the past."""
    volume_class: float = 0.1
    """Volume of the next bar: low, usual or high."""
    expert_action: float = 0.3
    """What the rule expert does at this bar: sell, hold or buy."""
    regime: float = 0.25
    """Trend and volatility class of the next bars."""

    def __post_init__(self) -> None:
        """Refuse weights that leave nothing to learn."""
        require_kinds(self)
        for field in fields(self):
            require(getattr(self, field.name) >= 0.0, f"{field.name} must be 0 or more", self)
        require(bool(self.active), "next_return or another weight must be above 0", self)

    @property
    def active(self) -> Mapping[str, float]:
        """Weights above 0, by name of the task."""
        weights = {field.name: float(getattr(self, field.name)) for field in fields(self)}
        return {name: weight for name, weight in weights.items() if weight > 0.0}


@dataclass(frozen=True)
class PretrainingConfig:
    """Length, size and pace of pre-training."""

    weights: AuxiliaryWeights = AuxiliaryWeights()
    updates: int = 300
    """Optimiser steps at most; the learning rate falls to 0 over them."""
    segments: int = 32
    """Runs of consecutive bars per update."""
    segment_bars: int = 256
    """Bars per run that are learned from; the encoder's lookback comes before them."""
    learning_rate: float = 1e-3
    """Highest rate of AdamW; cosine to 0."""
    warm_up_updates: int = 20
    """Updates in which the rate rises from 0."""
    weight_decay: float = 0.05
    """Decoupled weight decay of AdamW (Loshchilov & Hutter 2019)."""
    max_gradient_norm: float = 1.0
    """Norm that gradients are clipped to."""
    input_noise: float = 0.0
    """Standard deviation of noise added to the inputs in training, in units of scaled features."""
    held_out_frac: float = 0.15
    """Last part of the training period, kept for early stopping; never learned from."""
    evaluate_every: int = 25
    """Updates between two looks at the held-out part."""
    patience: int = 6
    """Looks without a better loss after which training ends."""
    score_blocks: int = 16
    """Stretches of time that intervals are estimated from (jackknife)."""
    mixed_precision: bool = False
    """Encode in bfloat16; weights, losses and optimiser stay in float32."""

    def __post_init__(self) -> None:
        """Refuse what cannot be trained."""
        require_kinds(self)
        for name in ("updates", "segments", "segment_bars", "evaluate_every", "patience"):
            require(getattr(self, name) >= 1, f"{name} must be 1 or more", self)
        require(self.warm_up_updates >= 0, "warm_up_updates must be 0 or more", self)
        require(self.learning_rate > 0.0, "learning_rate must be above 0", self)
        require(self.weight_decay >= 0.0, "weight_decay must be 0 or more", self)
        require(self.max_gradient_norm > 0.0, "max_gradient_norm must be above 0", self)
        require(self.input_noise >= 0.0, "input_noise must be 0 or more", self)
        require(0.0 < self.held_out_frac < 1.0, "held_out_frac must lie in (0, 1)", self)
        require(self.score_blocks >= 4, "score_blocks must be 4 or more", self)


PRETRAINING_PRESETS: Mapping[str, PretrainingConfig] = MappingProxyType(
    {
        "cpu": PretrainingConfig(updates=150),
        "gpu": PretrainingConfig(
            updates=200, segments=128, learning_rate=3e-4, mixed_precision=True
        ),
    }
)
"""`cpu` goes with the encoders `tiny` and `small`, `gpu` with `full`; more updates overfit."""
