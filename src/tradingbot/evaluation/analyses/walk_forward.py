"""Walk-forward: every window traded by agents that were trained on nothing but the days before.

Windows follow each other by `step_days` and overlap where that is less than their length. Every
`retrain_every` windows agents are trained anew on all days before; they trade the windows until
the next training. Days are trading days of the data.

A window in which the agents held nothing, because validation kept them out, was neither won nor
lost: it is shown as "stayed out" and the share of profitable windows is that of the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.calendar import closing_day
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.retraining.spec import (
    RetrainingResult,
    RetrainingSpec,
    TradedPeriod,
)
from tradingbot.evaluation.analyses.retraining.training import require_periods
from tradingbot.evaluation.analyses.settings import WalkForwardSettings
from tradingbot.evaluation.backtest import bars_between
from tradingbot.evaluation.dossier.robustness import WalkForward, Window
from tradingbot.evaluation.metrics.returns import max_drawdown, total_return
from tradingbot.evaluation.performance.measure import annual_sharpe_or_zero
from tradingbot.evaluation.statistics.bootstrap import MIN_BARS
from tradingbot.evaluation.statistics.interval import Interval, wilson_interval
from tradingbot.evaluation.statistics.policy_intervals import net_bps_interval, sharpe_interval


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
    """Return the profitable share of traded windows; its 95 % interval knows that they overlap.

    Windows with days in common are won or lost together: ten windows of 60 days every 20 days hold
    240 days, as much as four. The interval is Wilson's with `separate_windows` in place of the
    count. That is on the careful side: the mean of overlapping windows knows a little more than as
    many separate ones do, but the same agents trade several of them.

    Args:
        positive: Windows with alpha above 0.
        n_windows: Windows that were traded.
        settings: How they lie.

    Returns:
        0 in [0, 1] where none was traded: nothing is known.
    """
    if not n_windows:
        return Interval(0.0, 0.0, 1.0)
    share, separate = positive / n_windows, separate_windows(n_windows, settings)
    _, low, high = wilson_interval(share * separate, separate)
    return Interval(share, min(low, share), max(high, share))


def _training(windows: list[tuple[int, int]], settings: WalkForwardSettings) -> PlannedTraining:
    before = windows[0][0]
    validation = max(1, round(settings.validation_share_frac * before))
    return PlannedTraining(before - validation, before, tuple(windows))


def walk_forward_specs(
    subject: EvaluatedRun, settings: WalkForwardSettings
) -> tuple[RetrainingSpec, ...]:
    """Return the trainings that the windows need, in order of time.

    Windows are laid over the days from the run's first training day on: it learns from none before.

    Raises:
        DataError: If the data are shorter than a window, or a training or window has too few bars.
    """
    first = subject.data.split.train.start
    days = np.unique(closing_day(subject.data.world.closed_at[first:].astype("datetime64[us]")))
    names = [str(day) for day in days]
    seed = subject.run.record.seeds["root"]
    specs = tuple(
        RetrainingSpec(
            seed=seed,
            steps_share_frac=settings.steps_share_frac,
            last_days=(
                names[planned.train_stop - 1],
                names[planned.validation_stop - 1],
                names[planned.windows[-1][1] - 1],
            ),
            windows=tuple((names[first], names[stop - 1]) for first, stop in planned.windows),
        )
        for planned in plan_windows(len(names), settings)
    )
    for spec in specs:
        require_periods(spec, subject.config, subject.data)
    return specs


def measure_walk_forward(inputs: AnalysisInputs, settings: WalkForwardSettings) -> WalkForward:
    """Join the windows of all trainings."""
    specs = walk_forward_specs(inputs.subject, settings)
    trainings: list[RetrainingResult] = [inputs.need(spec.name) for spec in specs]
    windows = tuple(
        _window(inputs.subject, part, trained.trained_until)
        for trained in trainings
        for part in trained.parts
    )
    traded = [window for window in windows if not window.stayed_out]
    positive = sum(window.alpha_bps_per_bar > 0.0 for window in traded)
    returns, alpha = _joined(inputs.subject, trainings)
    enough = len(returns) >= MIN_BARS
    return WalkForward(
        window_days=settings.window_days,
        step_days=settings.step_days,
        retrain_every=settings.retrain_every,
        steps_per_agent=trainings[0].steps_per_agent,
        windows=windows,
        share_positive=positive_share(positive, len(traded), settings),
        sharpe_annual=sharpe_interval(returns, inputs.subject.bars_per_year) if enough else None,
        alpha_bps=net_bps_interval(alpha) if enough else None,
    )


def _joined(
    subject: EvaluatedRun, trainings: Sequence[RetrainingResult]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return net returns of the portfolio and alpha, (S,) each, of every window till the next."""
    parts = [part for trained in trainings for part in trained.parts]
    starts = [_bars(subject, part).start for part in parts]
    # A window's first return is that of its second bar, so the next one's first bar ends it.
    lengths = [*np.diff(starts), len(parts[-1].returns)]
    cut = list(zip(parts, (int(length) for length in lengths), strict=True))
    net = np.concatenate([part.returns[:length] for part, length in cut])
    return net, np.concatenate([np.array(part.alpha[:length]) for part, length in cut])


def _bars(subject: EvaluatedRun, part: TradedPeriod) -> IndexRange:
    days = (date.fromisoformat(day) for day in (part.first_day, part.last_day))
    return bars_between(subject.data.world, *days)


def _window(subject: EvaluatedRun, part: TradedPeriod, trained_until: str) -> Window:
    bars = _bars(subject, part)
    returns = np.array(part.returns)
    return Window(
        first_day=part.first_day,
        last_day=part.last_day,
        trained_until=trained_until,
        sharpe_annual=annual_sharpe_or_zero(returns, subject.bars_per_year),
        total_return_frac=total_return(returns),
        hold_return_frac=total_return(subject.backtest_hold(bars).portfolio_returns),
        max_drawdown_frac=max_drawdown(returns),
        alpha_bps_per_bar=part.alpha_bps_per_bar,
    )
