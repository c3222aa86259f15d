"""From a backtest to its tear sheet."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.metrics import returns, rolling, tails
from tradingbot.evaluation.metrics.drawdowns import Drawdown, deepest, drawdowns_of
from tradingbot.evaluation.metrics.periods import compound_by, days_and_months
from tradingbot.evaluation.performance.tear_sheet.clock import clock_profile
from tradingbot.evaluation.performance.tear_sheet.price_course import price_courses
from tradingbot.evaluation.performance.tear_sheet.record import (
    DatedReturn,
    DrawdownRow,
    ExposureCourse,
    MonthReturn,
    RollingFigures,
    Tails,
    TearSheet,
)
from tradingbot.evaluation.performance.tear_sheet.trades import (
    holding_times,
    symbol_courses,
    trade_log,
)
from tradingbot.evaluation.statistics.bootstrap import (
    MIN_BARS,
    Statistic,
    bootstrap_draws,
    sharpe_of,
)
from tradingbot.evaluation.statistics.inputs import FloatArray, IntArray
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.evaluation.statistics.policy_intervals import DRAWS, interval_of
from tradingbot.evaluation.statistics.sharpe import measure_sharpe

_DRAWDOWNS, _EXTREMES, _BINS, _POINTS = 10, 5, 31, 260
_FEWEST_WINDOWS, _SHORTEST_WINDOW_BARS = 3, 20


class Reference(NamedTuple):
    """What a policy is read against."""

    name: str
    returns: FloatArray
    """(S,) simple, per bar."""


def price_reference(played: Backtest) -> Reference | None:
    """Return holding the symbols of a backtest, equal at the start, without costs.

    None where prices are not known. A symbol without a price yet stays at what was put in.
    """
    if played.close is None:
        return None
    close = pl.DataFrame(played.close).fill_nan(None).fill_null(strategy="forward")
    first = close.fill_null(strategy="backward").head(1).to_numpy()
    worth = np.nan_to_num(close.to_numpy().astype(np.float64) / first, nan=1.0)
    return Reference("holding the symbols", returns.simple_returns(worth.mean(axis=1)))


def tear_sheet_of(played: Backtest, reference: Reference | None = None) -> TearSheet:
    """Measure everything that is shown of one policy.

    Args:
        played: What it did; eight bars or more.
        reference: What months, beta and alpha refer to, over the same bars; without one, holding
            the symbols at their prices, where these are known.

    Raises:
        DataError: If there are too few bars, or an equity is not a number.
    """
    series = played.portfolio_returns
    reference = reference or price_reference(played)
    market = None if reference is None else reference.returns
    days, months = days_and_months(played.closed_at[1:])
    found = drawdowns_of(played.portfolio)
    lost = returns.drawdown_of(played.portfolio)[1:] > 0.0
    return TearSheet(
        policy=played.policy,
        reference="" if reference is None else reference.name,
        first_day=str(days[0]),
        last_day=str(days[-1]),
        bars=played.n_bars,
        bars_per_year=played.bars_per_year,
        months=_months(series, market, months),
        drawdowns=tuple(_drawdown_row(each, played) for each in deepest(found, _DRAWDOWNS)),
        n_drawdowns=len(found),
        under_water_frac=float(lost.mean()),
        rolling=_rolling(series, market, days, played.bars_per_year),
        tails=_tails(series, days),
        exposure=exposure_course(played),
        clock=clock_profile(series, played.closed_at[1:], played.time_zone),
        trades=trade_log(played),
        holding=holding_times(played.trades),
        symbols=symbol_courses(played),
        prices=price_courses(played),
    )


def thinned_ends(days: NDArray[np.datetime64], most: int = _POINTS) -> IntArray:
    """Return the places of the last bars of days, evenly thinned to `most`; the last is kept."""
    ends = np.flatnonzero(np.append(days[1:] != days[:-1], True))
    step = max(math.ceil(len(ends) / most), 1)
    return np.asarray(ends[::-1][::step][::-1])


def _months(
    series: FloatArray, market: FloatArray | None, months: NDArray[np.datetime64]
) -> tuple[MonthReturn, ...]:
    own, first = compound_by(series, months)
    other = np.full(len(own), math.nan) if market is None else compound_by(market, months)[0]
    bars = np.diff(np.append(first, len(series)))
    rows = zip(months[first], own.tolist(), other.tolist(), bars.tolist(), strict=True)
    return tuple(MonthReturn(str(month), *figures) for month, *figures in rows)


def _drawdown_row(found: Drawdown, played: Backtest) -> DrawdownRow:
    days = days_and_months(played.closed_at)[0]
    recovered = found.recovered
    return DrawdownRow(
        depth_frac=found.depth_frac,
        peak_day=str(days[found.peak]),
        trough_day=str(days[found.trough]),
        recovered_day=None if recovered is None else str(days[recovered]),
        fall_bars=found.trough - found.peak,
        recovery_bars=None if recovered is None else recovered - found.trough,
    )


def _rolling(
    series: FloatArray,
    market: FloatArray | None,
    days: NDArray[np.datetime64],
    bars_per_year: float,
) -> RollingFigures | None:
    """Measure windows of a quarter of a year, or of a third of a shorter period."""
    window = min(round(bars_per_year / 4), len(series) // _FEWEST_WINDOWS)
    if window < _SHORTEST_WINDOW_BARS:
        return None
    ends = thinned_ends(days)
    ends = ends[ends >= window - 1]
    over = partial(_over_windows, ends=ends, window_bars=window, bars_per_year=bars_per_year)
    beta = alpha = np.zeros(0)
    if market is not None:
        beta = rolling.rolling_beta(series, market, ends, window_bars=window)
        alpha = rolling.rolling_alpha(
            series, market, ends, window_bars=window, bars_per_year=bars_per_year
        )
    return RollingFigures(
        window_bars=window,
        days=tuple(str(day) for day in days[ends]),
        sharpe_annual=over(rolling.rolling_sharpe, series),
        volatility_annual_frac=over(rolling.rolling_volatility, series),
        beta=tuple(beta.tolist()),
        alpha_annual_frac=tuple(alpha.tolist()),
        unchanged_sharpe=_unchanged_sharpe(series, window, bars_per_year),
    )


def _over_windows(
    measure: Callable[..., FloatArray], series: FloatArray, **over: object
) -> tuple[float, ...]:
    return tuple(measure(series, **over).tolist())


def _unchanged_sharpe(series: FloatArray, window: int, bars_per_year: float) -> Interval:
    """Return the Sharpe ratio of all bars, and where 95 % of windows lie if nothing changes."""
    whole = returns.annual_sharpe(series, bars_per_year=bars_per_year)
    if math.isnan(whole):
        return Interval(math.nan, math.nan, math.nan)

    def of_windows(histories: FloatArray) -> FloatArray:
        return np.nan_to_num(sharpe_of(histories[:, :window]))

    draws = bootstrap_draws(series, of_windows, n_draws=DRAWS) * math.sqrt(bars_per_year)
    low, high = np.quantile(draws, [0.025, 0.975])
    return Interval(whole, float(low), float(high))


def _tails(series: FloatArray, days: NDArray[np.datetime64]) -> Tails:
    daily, first = compound_by(series, days)
    names, sample = days[first], measure_sharpe(daily)
    edges, counts, normal = tails.histogram(daily, _bins_of(len(daily)))
    order = np.argsort(daily, kind="stable")
    dated = partial(_dated, names, daily)
    return Tails(
        days=len(daily),
        edges_frac=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
        normal_counts=tuple(normal.tolist()),
        skewness=sample.skew,
        kurtosis=sample.kurtosis,
        tail_ratio=tails.tail_ratio(daily),
        value_at_risk_frac=_interval(daily, tails.value_at_risk_statistic(0.95)),
        expected_shortfall_frac=_interval(daily, tails.shortfall_statistic(0.95)),
        positive_frac=returns.hit_rate(daily),
        best=tuple(dated(int(place)) for place in order[::-1][:_EXTREMES] if daily[place] > 0.0),
        worst=tuple(dated(int(place)) for place in order[:_EXTREMES] if daily[place] < 0.0),
    )


def _bins_of(n_days: int) -> int:
    """Return as many bins as Rice's rule asks for, 2·n^⅓."""
    return min(_BINS, max(5, round(2.0 * math.cbrt(n_days))))


def _interval(series: FloatArray, statistic: Statistic) -> Interval:
    """Return a statistic with its interval; without ends where there are too few days."""
    if len(series) < MIN_BARS:
        return Interval(float(statistic(series[None])[0]), math.nan, math.nan)
    return interval_of(series, statistic)


def _dated(days: NDArray[np.datetime64], daily: FloatArray, place: int) -> DatedReturn:
    return DatedReturn(str(days[place]), float(daily[place]))


def exposure_course(played: Backtest) -> ExposureCourse:
    """Measure at day ends; turnover is that of all bars since the point before, per day."""
    days = days_and_months(played.closed_at[1:])[0]
    ends = thinned_ends(days)
    worth, before = played.equity[1:], played.equity[:-1]
    total = np.maximum(worth.sum(axis=1), np.finfo(np.float64).tiny)
    money = played.position_frac * worth
    traded = np.cumsum(
        (played.turnover_frac * before).sum(axis=1)
        / np.maximum(before.sum(axis=1), np.finfo(np.float64).tiny)
    )
    first = np.append(0, np.searchsorted(days, days[ends[:-1]], side="right"))
    n_days = np.array([len(np.unique(days[a : b + 1])) for a, b in zip(first, ends, strict=True)])
    turnover = np.diff(traded[ends], prepend=0.0) / n_days
    return ExposureCourse(
        days=tuple(str(day) for day in days[ends]),
        gross_frac=tuple((np.abs(money).sum(axis=1) / total)[ends].tolist()),
        net_frac=tuple((money.sum(axis=1) / total)[ends].tolist()),
        held_frac=tuple((played.position_frac != 0.0).mean(axis=1)[ends].tolist()),
        turnover_frac=tuple(turnover.tolist()),
    )
