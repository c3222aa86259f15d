"""Gains made quickly are worth more, losses carried for long are worse.

Formula:
    On what was closed: `closed_frac · q · speed` for a gain, `closed_frac · q · (1 − speed)` for a
    loss, with `q = clamp(ROI / roi_unit, −1, 1)` and `speed = H / (H + bars held)`, H =
    `horizon_bars`. 0 in a step that closes nothing.

Unit:
    1 is a gain of `roi_unit` (5 %) of the entry value, closed at once.

Bounds:
    [−1, 1].

Notes:
    `closed_frac` keeps an exit in many parts from being paid more than an exit in one.

Version history:
    1: first.
"""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import Bounds, RewardTerm, require


@dataclass(frozen=True)
class TimeEfficiencyOptions:
    """What counts as quick, and as much."""

    roi_unit: float = 0.05
    """ROI at which the term is full."""
    horizon_bars: float = 24.0
    """Bars after which a gain counts half."""

    def __post_init__(self) -> None:
        require(0.0 < self.roi_unit <= 10.0, "roi_unit must lie in (0, 10]", self)
        require(0.0 < self.horizon_bars <= 1e6, "horizon_bars must lie in (0, 1e6]", self)

    @property
    def bounds(self) -> Bounds:
        """The term lies within these."""
        return Bounds(-1.0, 1.0)


def time_efficiency(step: RewardInputs[T], options: TimeEfficiencyOptions, xp: Maths[T]) -> T:
    """Compute the term before it is cut; see the module."""
    quality = xp.clip(step.roi / options.roi_unit, -1.0, 1.0)
    speed = options.horizon_bars / (options.horizon_bars + step.bars_held)
    share = xp.where(quality > 0.0, speed, 1.0 - speed)
    return step.closed_frac * quality * share


TERM = RewardTerm("time_efficiency", 1, time_efficiency, TimeEfficiencyOptions, objective="timing")
