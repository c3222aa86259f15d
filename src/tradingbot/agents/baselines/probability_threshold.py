"""Long while a rise is probable enough, else flat: what a classifier earns by itself."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from tradingbot.agents.policy import PolicyInputs, apply_no_trade_band
from tradingbot.domain.errors import ConfigError

UP = 2  # last of down, flat, up
THRESHOLDS = (0.60, 0.65, 0.70, 0.75, 0.80)
"""Levels of the plan; calibrated probabilities of three classes seldom reach them."""
LIFTS = (1.0, 1.1, 1.2, 1.35, 1.5)
"""Default levels ÷ the base rate of a rise."""


def relative_thresholds(base_rate: float) -> tuple[float, ...]:
    """Return levels of P(up) that a classifier reaches, by how often rises are.

    Args:
        base_rate: Share of rises in the training part, in (0, 1).

    Example:
        >>> relative_thresholds(0.34)
        (0.34, 0.374, 0.408, 0.459, 0.51)
    """
    return tuple(round(min(base_rate * lift, 1.0), 3) for lift in LIFTS)


@dataclass(frozen=True, eq=False)
class ProbabilityThreshold:
    """Asks for the largest position where P(up) ≥ `threshold`, and for none below it.

    It reads probabilities by row of the market, so it belongs to the world they were joined to.
    """

    chances: Tensor
    """(N · T, 3) probabilities of down, flat, up; row = symbol · T + bar."""
    threshold: float

    def __post_init__(self) -> None:
        """Refuse what is no threshold or no table of probabilities."""
        if not 0.0 <= self.threshold <= 1.0:
            raise ConfigError("threshold must lie in [0, 1]", was=self.threshold)
        if self.chances.ndim != 2 or self.chances.shape[1] != UP + 1:
            raise ConfigError("probabilities must be (rows, 3)", was=tuple(self.chances.shape))

    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Return targets (B,): 1 or 0, or the position that is held."""
        wants = self.chances[seen.row, UP] >= self.threshold
        return apply_no_trade_band(wants.to(seen.size.dtype), seen.size)
