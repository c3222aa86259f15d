"""How a stored actor is read: its head, its inputs by name, and what its outputs mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from tradingbot.domain.checks import bounded, require, require_kinds
from tradingbot.networks.distributions import round_to_levels, round_weights, to_simplex
from tradingbot.networks.head_config import HeadConfig

SquashKind = Literal["sigmoid", "tanh", "softmax"]


@dataclass(frozen=True)
class Squash:
    """How outputs of a head become numbers in a range, or weights that sum to 1."""

    kind: SquashKind = "sigmoid"
    """`sigmoid` for direct gradients, `tanh` for the mean of a squashed Gaussian, `softmax` for
    weights."""
    gain: float = bounded(1.0, "> 0")
    """Multiplies the output first."""
    low: float = 0.0
    high: float = 1.0
    levels: int = bounded(0, "0 or >= 2")
    """Positions are rounded to so many levels from low to high; 0 does not round."""

    def __post_init__(self) -> None:
        """Refuse what cannot be computed."""
        require_kinds(self)
        require(self.low < self.high, "low must be below high", self)

    def __call__(self, output: Tensor) -> Tensor:
        """Map outputs (…) to positions (…); `softmax`: (…, K − 1) to weights (…, K)."""
        scaled = self.gain * output
        if self.kind == "softmax":
            return round_weights(to_simplex(scaled), self.levels)
        share = torch.sigmoid(scaled) if self.kind == "sigmoid" else 0.5 * (scaled.tanh() + 1.0)
        position = self.low + (self.high - self.low) * share
        return round_to_levels(position, self.low, self.high, self.levels)


@dataclass(frozen=True)
class ActorLayout:
    """How an actor was stored and what its outputs mean."""

    prefix: str
    """What the names of its tensors begin with."""
    head: HeadConfig
    n_outputs: int
    """The first are what `squash` reads; without one, a preference for each code."""
    squash: Squash | None
    private: tuple[str, ...]
    """Names of the inputs that follow the view's, in order: what an agent knows of itself."""
    n_components: int = 0
    """K, numbers of a vector: `squash` reads the first K outputs, of weights K − 1; 0: one."""
