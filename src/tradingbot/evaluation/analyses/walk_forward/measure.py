"""Walk-forward with retraining: which days are traded, and by agents that learned until when.

Windows follow each other by `step_days` and overlap where that is less than their length. Every
`retrain_every` windows agents are trained anew on all days before; they trade the windows until
the next training. Days are trading days of the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tradingbot.domain.checks import require, require_kinds
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.statistics.interval import Interval, wilson_interval


@dataclass(frozen=True)
class WalkForwardSettings:
    """How windows lie, and what each training may cost."""

    window_days: int = 60
    """Trading days of a window."""
    step_days: int = 20
    """Trading days from the beginning of one window to that of the next."""
    retrain_every: int = 3
    """Windows per training."""
    first_share_frac: float = 0.5
    """Share of all days that lies before the first window."""
    validation_share_frac: float = 0.3
    """Share of the days before a training's windows that its validation takes, at their end."""
    steps_share_frac: float = 1.0
    """Budget of each training ÷ that of the run."""

    def __post_init__(self) -> None:
        """Refuse windows that cannot be laid."""
        require_kinds(self)
        require(self.window_days >= 2, "window_days must be 2 or more", self)
        require(self.step_days >= 1, "step_days must be 1 or more", self)
        require(self.retrain_every >= 1, "retrain_every must be 1 or more", self)
        for name in ("first_share_frac", "validation_share_frac"):
            require(0.0 < getattr(self, name) < 1.0, f"{name} must lie in (0, 1)", self)
        require(0.0 < self.steps_share_frac <= 1.0, "steps_share_frac must lie in (0, 1]", self)


@dataclass(frozen=True)
class PlannedTraining:
    """One training and its windows, as positions among the trading days."""

    train_stop: int
    """Day after the last one that weights learn from."""
    validation_stop: int
    """Day after the last one that validation sees: the first day of the first window."""
    windows: tuple[tuple[int, int], ...]
    """First day and day after the last, of each window."""


def plan_windows(n_days: int, settings: WalkForwardSettings) -> tuple[PlannedTraining, ...]:
    """Lay windows over the days of the data.

    Args:
        n_days: Trading days of the data.
        settings: How.

    Returns:
        In order of time; days after the last whole window are not traded.

    Raises:
        DataError: If not one window fits after the first share.

    Example:
        >>> plan = plan_windows(100, WalkForwardSettings(20, 10, 2))
        >>> [training.windows for training in plan]
        [((50, 70), (60, 80)), ((70, 90), (80, 100))]
        >>> plan[0].train_stop, plan[0].validation_stop
        (35, 50)
    """
    first = math.ceil(settings.first_share_frac * n_days)
    starts = range(first, n_days - settings.window_days + 1, settings.step_days)
    if not starts:
        raise DataError(
            "data must have a walk-forward window of days after the first share",
            was=f"{n_days - first} days for a window of {settings.window_days}",
            remedy="Shorten walk_forward.window_days, or evaluate a longer period",
        )
    windows = [(start, start + settings.window_days) for start in starts]
    every = settings.retrain_every
    groups = [windows[begin : begin + every] for begin in range(0, len(windows), every)]
    return tuple(_training(group, settings) for group in groups)


def separate_windows(n_windows: int, settings: WalkForwardSettings) -> int:
    """Return how many windows side by side, without a day in common, fill the days of some.

    Args:
        n_windows: 1 or more, each `step_days` after the one before.
        settings: How they lie.

    Example:
        >>> separate_windows(10, WalkForwardSettings(window_days=60, step_days=20))
        4
    """
    if settings.step_days >= settings.window_days:
        return n_windows
    days = settings.window_days + (n_windows - 1) * settings.step_days
    return days // settings.window_days


def positive_share(positive: int, n_windows: int, settings: WalkForwardSettings) -> Interval:
    """Return the share of windows above 0 with a 95 % interval that knows that they overlap.

    Windows with days in common are won or lost together: ten windows of 60 days every 20 days hold
    240 days, as much as four. The interval is Wilson's with `separate_windows` in place of the
    count. That is on the careful side: the mean of overlapping windows knows a little more than as
    many separate ones do, but the same agents trade several of them.

    Args:
        positive: Windows with a Sharpe ratio above 0.
        n_windows: Windows in all, 1 or more.
        settings: How they lie.
    """
    share, separate = positive / n_windows, separate_windows(n_windows, settings)
    _, low, high = wilson_interval(share * separate, separate)
    return Interval(share, min(low, share), max(high, share))


def _training(windows: list[tuple[int, int]], settings: WalkForwardSettings) -> PlannedTraining:
    before = windows[0][0]
    validation = max(1, round(settings.validation_share_frac * before))
    return PlannedTraining(before - validation, before, tuple(windows))
