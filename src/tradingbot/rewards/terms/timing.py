"""Terms about when a trade ends."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.domain.checks import bounded
from tradingbot.market.maths import Maths, T
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.term import TermOptions


@dataclass(frozen=True)
class TimeEfficiencyOptions(TermOptions):
    """What counts as quick, and as much."""

    roi_unit: float = bounded(0.05, "(0, 10]")
    """ROI at which the term is full."""
    horizon_bars: float = bounded(24.0, "(0, 1e6]")
    """Bars after which a gain counts half."""


def time_efficiency(step: RewardInputs[T], options: TimeEfficiencyOptions, xp: Maths[T]) -> T:
    """Gains made quickly are worth more, losses carried for long are worse.

    Formula:
        On what was closed: `closed_frac · q · speed` for a gain, `closed_frac · q · (1 − speed)`
        for a loss, with `q = clamp(ROI / roi_unit, −1, 1)` and `speed = H / (H + bars held)`, H =
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
    quality = xp.clip(step.roi / options.roi_unit, -1.0, 1.0)
    speed = options.horizon_bars / (options.horizon_bars + step.bars_held)
    share = xp.where(quality > 0.0, speed, 1.0 - speed)
    return step.closed_frac * quality * share
