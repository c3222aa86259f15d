"""Stylised facts: what a set of bars looks like, in a few numbers that real markets agree on.

Pure functions from arrays to a typed record; used to compare a synthetic market with a real one.
Measured over whole samples on purpose: nothing here may feed a feature.

Returns are logarithmic, close to close, unless a fact says otherwise. *Deseasonalised* means
divided by the symbol's mean |return| of the same bar of the day, so that the intraday U-shape is
not taken for clustering. Cells without a bar are left out of every mean (NaN in, NaN skipped).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.daily_profile import (
    DayGrid,
    column_mean,
    day_grid,
    deseasonalise,
    relative_profile,
)
from tradingbot.features.inputs import FloatArray, MarketInputs

ABS_LAGS = (1, 5, 20, 100)
_LEVERAGE_LAGS = range(1, 36)  # a week of hourly bars
_TAIL_FRAC = 0.025  # of the largest |returns| enter the tail index
_JUMP_SIGMAS = 6.0
_JUMP_WINDOW_BARS = 70
_MIN_BARS = 300
_YEAR_US = 365.25 * 86_400e6


@dataclass(frozen=True)
class Fact:
    """A number with the spread it has across symbols."""

    median: float
    low: float
    """First quartile across symbols."""
    high: float
    """Third quartile across symbols."""


@dataclass(frozen=True)
class StylisedFacts:
    """What a dataset looks like; each fact is the median over symbols with its quartiles."""

    annual_volatility: Fact
    """Standard deviation of returns × √(bars per year)."""
    excess_kurtosis: Fact
    """Fourth standardised moment − 3; 0 for a normal distribution."""
    tail_index: Fact
    """Hill estimate from the largest 2.5 % of |returns|; smaller is fatter."""
    return_acf_1: Fact
    """Autocorrelation of returns at lag 1."""
    abs_acf_1: Fact
    """Autocorrelation of deseasonalised |returns| at lag 1."""
    abs_acf_5: Fact
    """The same at lag 5."""
    abs_acf_20: Fact
    """The same at lag 20."""
    abs_acf_100: Fact
    """The same at lag 100."""
    leverage: Fact
    """Mean over lags 1…35 of corr(r_t, |r_{t+k}|), deseasonalised; negative where falls excite."""
    index_leverage: Fact
    """The same for the equal-weight index."""
    index_abs_acf_5: Fact
    """Autocorrelation of the equal-weight index's deseasonalised |returns| at lag 5."""
    open_volatility: Fact
    """σ of open-to-close returns in the day's first bar ÷ in its middle bars; 1 if daily."""
    close_volatility: Fact
    """σ in the day's last bar ÷ in its middle bars."""
    open_volume: Fact
    """Mean volume of the day's first bar ÷ of its middle bars."""
    close_volume: Fact
    """Mean volume of the day's last bar ÷ of its middle bars."""
    overnight_share: Fact
    """Squared gaps between sessions ÷ (squared gaps + squared open-to-close returns)."""
    pair_correlation: Fact
    """Mean correlation of a symbol's returns with every other symbol's."""
    sector_excess: Fact
    """Mean correlation within the sector − with the others; NaN without sectors."""
    jumps_per_1000: Fact
    """Bars per 1,000 whose deseasonalised |return| exceeds 6 local standard deviations."""
    volume_volatility: Fact
    """Correlation of log volume and log |return|, both deseasonalised."""
    range_ratio: Fact
    """Mean log(high ÷ low) ÷ mean |log(close ÷ open)|; 2 for Brownian motion."""
    zero_volume_frac: Fact
    """Share of bars without volume."""

    def as_dict(self) -> dict[str, Fact]:
        """Name → fact, in the order above."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def measure_facts(
    inputs: MarketInputs, *, sectors: Mapping[str, str] | None = None
) -> StylisedFacts:
    """Measure every stylised fact of a set of bars.

    Args:
        inputs: Bars on one grid; days are cut in `inputs.time_zone`.
        sectors: Symbol → sector; without it `sector_excess` is NaN.

    Raises:
        DataError: If the grid has fewer than 300 bars: the facts would be noise.
    """
    if inputs.shape[0] < _MIN_BARS:
        rule = f"stylised facts need {_MIN_BARS} bars or more"
        raise DataError(rule, was=inputs.shape[0], remedy="Choose a longer period")
    grid = day_grid(inputs.closed_at, inputs.time_zone)
    returns = log_returns(inputs.bars["close"])
    scaled = deseasonalise(returns, grid)
    index = column_mean(returns.T)[:, None]
    index_scaled = deseasonalise(index, grid)
    span_years = (inputs.closed_at[-1] - inputs.closed_at[0]).astype(np.int64) / _YEAR_US
    per_year = (len(returns) - 1) / span_years
    pairs, excess = _correlations(returns, inputs.symbols, sectors)
    measured = {
        "annual_volatility": np.nanstd(returns, axis=0) * np.sqrt(per_year),
        "excess_kurtosis": excess_kurtosis(returns),
        "tail_index": tail_index(returns),
        "return_acf_1": autocorrelation(returns, 1),
        **{f"abs_acf_{lag}": autocorrelation(np.abs(scaled), lag) for lag in ABS_LAGS},
        "leverage": leverage(scaled),
        "index_leverage": leverage(index_scaled),
        "index_abs_acf_5": autocorrelation(np.abs(index_scaled), 5),
        "pair_correlation": pairs,
        "sector_excess": excess,
        "jumps_per_1000": 1000 * jump_frequency(scaled),
        **_within_bar_facts(inputs, grid, scaled),
    }
    return StylisedFacts(**{name: summarise(values) for name, values in measured.items()})


def _within_bar_facts(
    inputs: MarketInputs, grid: DayGrid, scaled: FloatArray
) -> dict[str, FloatArray]:
    bars = inputs.bars
    inside = np.log(bars["close"] / bars["open"])
    open_vol, close_vol = relative_profile(inside**2, grid)
    open_volume, close_volume = relative_profile(bars["volume"], grid)
    gaps = np.log(bars["open"][1:] / bars["close"][:-1])[grid.opens[1:]]
    gap_power, inside_power = np.nansum(gaps**2, axis=0), np.nansum(inside**2, axis=0)
    spread = column_mean(np.log(bars["high"] / bars["low"]))
    return {
        "open_volatility": np.sqrt(open_vol),
        "close_volatility": np.sqrt(close_vol),
        "open_volume": open_volume,
        "close_volume": close_volume,
        "overnight_share": gap_power / (gap_power + inside_power),
        "volume_volatility": _volume_volatility(bars["volume"], scaled, grid),
        "range_ratio": spread / column_mean(np.abs(inside)),
        "zero_volume_frac": column_mean(_flag(bars["volume"] == 0, bars["close"])),
    }


def summarise(values: FloatArray) -> Fact:
    """Median and quartiles of what is finite; all NaN where nothing is."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return Fact(np.nan, np.nan, np.nan)
    low, median, high = np.quantile(finite, [0.25, 0.5, 0.75])
    return Fact(float(median), float(low), float(high))


def log_returns(closes: FloatArray) -> FloatArray:
    """(T, N) close-to-close log returns; the first row is NaN, as is any beside an absent bar."""
    return np.asarray(np.diff(np.log(closes), axis=0, prepend=np.nan))


def excess_kurtosis(returns: FloatArray) -> FloatArray:
    """(N,) fourth standardised moment − 3 of each column."""
    centred = returns - column_mean(returns)
    return np.asarray(column_mean(centred**4) / column_mean(centred**2) ** 2 - 3)


def tail_index(returns: FloatArray) -> FloatArray:
    """(N,) Hill estimate of the power with which |returns| decay in the tail.

    Source: B. M. Hill, "A simple general approach to inference about the tail of a distribution",
    Annals of Statistics 3 (1975).
    """
    count = max(10, int(_TAIL_FRAC * len(returns)))
    magnitudes = np.sort(np.nan_to_num(np.abs(returns)), axis=0)[-count - 1 :]
    return np.asarray(1 / np.log(magnitudes[1:] / magnitudes[0]).mean(axis=0))


def autocorrelation(values: FloatArray, lag: int) -> FloatArray:
    """(N,) correlation of each column with itself `lag` rows later."""
    return _column_correlation(values[:-lag], values[lag:])


def leverage(scaled: FloatArray) -> FloatArray:
    """(N,) mean over a week of lags of the correlation of a return with later |returns|."""
    size = np.abs(scaled)
    lags = [_column_correlation(scaled[:-k], size[k:]) for k in _LEVERAGE_LAGS]
    return np.asarray(np.mean(lags, axis=0))


def jump_frequency(scaled: FloatArray) -> FloatArray:
    """(N,) share of rows above 6 × the local standard deviation of their neighbours.

    The local scale is the root mean square over a centred window of 71 rows without the row
    itself.
    """
    squares = np.nan_to_num(scaled**2)
    seen = np.isfinite(scaled).astype(np.float64)
    others = np.maximum(_window_sum(seen) - seen, 1)
    local = (_window_sum(squares) - squares) / others
    jumps = _flag(squares > _JUMP_SIGMAS**2 * np.maximum(local, 1e-12), scaled)
    return column_mean(jumps)


def _window_sum(values: FloatArray) -> FloatArray:
    half = _JUMP_WINDOW_BARS // 2
    total = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    rows = np.arange(len(values))
    last, first = np.minimum(rows + half + 1, len(values)), np.maximum(rows - half, 0)
    return np.asarray(total[last] - total[first])


def _volume_volatility(volume: FloatArray, scaled: FloatArray, grid: DayGrid) -> FloatArray:
    traded = np.where(volume > 0, volume, np.nan)
    relative = np.log(deseasonalise(traded, grid))
    moved = np.where(scaled != 0, np.abs(scaled), np.nan)
    return _column_correlation(relative, np.log(moved))


def _correlations(
    returns: FloatArray, symbols: tuple[str, ...], sectors: Mapping[str, str] | None
) -> tuple[FloatArray, FloatArray]:
    seen = np.isfinite(returns)
    centred = np.where(seen, returns - column_mean(returns), 0)
    norm = np.sqrt((centred**2).sum(axis=0))
    matrix = centred.T @ centred / np.outer(norm, norm)
    others = ~np.eye(len(symbols), dtype=bool)
    if len(symbols) < 2:
        return np.full(1, np.nan), np.full(1, np.nan)
    pairs = matrix.mean(axis=1, where=others)
    labels = np.array([sectors.get(s, s) if sectors else s for s in symbols])
    same = (labels[:, None] == labels[None, :]) & others
    inside = _mean_where(matrix, same)
    return pairs, inside - _mean_where(matrix, others & ~same)


def _mean_where(matrix: FloatArray, where: NDArray[np.bool_]) -> FloatArray:
    count = where.sum(axis=1)
    total = np.where(where, matrix, 0).sum(axis=1)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def _column_correlation(left: FloatArray, right: FloatArray) -> FloatArray:
    both = np.isfinite(left) & np.isfinite(right)
    count = np.maximum(both.sum(axis=0), 1)
    a, b = np.where(both, left, 0), np.where(both, right, 0)
    a = np.where(both, a - a.sum(axis=0) / count, 0)
    b = np.where(both, b - b.sum(axis=0) / count, 0)
    norm = np.sqrt((a * a).sum(axis=0) * (b * b).sum(axis=0))
    return np.asarray(np.where(norm > 0, (a * b).sum(axis=0) / np.maximum(norm, 1e-300), 0))


def _flag(condition: NDArray[np.bool_], like: FloatArray) -> FloatArray:
    return np.asarray(np.where(np.isfinite(like), condition.astype(np.float64), np.nan))
