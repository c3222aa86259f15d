"""Figures of simple returns per bar: growth, dispersion, drawdown, tails; and beside a reference.

One policy throughout: NaN or infinity inside an input is a DataError that names its place; a figure
that is not defined (no bar, one bar, no spread, no loss to divide by) is NaN, never infinite. A
return of −1 or less is ruin: worth is 0 from then on.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.statistics import inputs
from tradingbot.evaluation.statistics.inputs import SMALLEST, FloatArray, spread_of
from tradingbot.evaluation.statistics.sharpe import sharpe_ratio

_LARGEST_EXPONENT = 700.0
"""e to this is the last that a double holds."""


def simple_returns(equity: ArrayLike) -> FloatArray:
    """Return the change of worth per bar (S, …) of worth (S + 1, …).

    0 where nothing is left to lose: after ruin nothing changes.

    Raises:
        DataError: If a worth is NaN or infinite, or there is none.
    """
    worth = _finite_worth(equity)
    before = worth[:-1]
    ratios: FloatArray = np.divide(worth[1:], before, out=np.ones_like(before), where=before > 0.0)
    return ratios - 1.0


def wealth_of(returns: ArrayLike) -> FloatArray:
    """Return the worth (T + 1,) of 1 put in at the start; 0 from ruin on.

    Raises:
        DataError: If a return is NaN or infinite, or they compound to more than a number holds.
    """
    growth = np.maximum(1.0 + inputs.finite_series(returns, "returns"), 0.0)
    with np.errstate(over="ignore"):
        worth = np.concatenate([[1.0], np.cumprod(growth)])
    if not np.isfinite(worth).all():
        rule = "returns must compound to a finite worth"
        remedy = "Check the unit: returns are shares, 0.01 for one per cent"
        raise DataError(rule, was=f"{growth.max() - 1.0:.6g} at most", remedy=remedy)
    return worth


def drawdown_of(equity: ArrayLike) -> FloatArray:
    """Return the share (S, …) lost since the highest worth so far, ≥ 0, along the first axis.

    Raises:
        DataError: If a worth is NaN or infinite, there is none, or it begins at 0 or below.
    """
    worth = _finite_worth(equity)
    if (worth[0] <= 0.0).any():
        raise DataError("equity must begin above 0", was=worth[0].min())
    return 1.0 - worth / np.maximum.accumulate(worth, axis=0)


def total_return(returns: ArrayLike) -> float:
    """Return the compounded return over all bars, share of the start; −1 for ruin, NaN for none."""
    series = inputs.finite_series(returns, "returns")
    return float(wealth_of(series)[-1] - 1.0) if len(series) else math.nan


def annual_return(returns: ArrayLike, *, bars_per_year: float) -> float:
    """Return the yearly compounded return, share: (1 + total)^(bars per year ÷ T) − 1.

    −1 for ruin; NaN for no bar, or where a few bars would compound to more than a number holds.
    """
    _require_year(bars_per_year)
    total = total_return(returns)
    if math.isnan(total) or total <= -1.0:
        return total
    exponent = math.log1p(total) * bars_per_year / len(inputs.finite_series(returns, "returns"))
    return math.expm1(exponent) if exponent < _LARGEST_EXPONENT else math.nan


def annual_volatility(returns: ArrayLike, *, bars_per_year: float) -> float:
    """Return the standard deviation (T − 1) of returns × √bars per year, share.

    0 where nothing moves; NaN for fewer than two bars.
    """
    _require_year(bars_per_year)
    series = inputs.finite_series(returns, "returns")
    if len(series) < 2:
        return math.nan
    spread = spread_of(series)
    return 0.0 if math.isnan(spread) else spread * math.sqrt(bars_per_year)


def annual_sharpe(
    returns: ArrayLike, *, bars_per_year: float, risk_free_frac: float = 0.0
) -> float:
    """Return mean ÷ standard deviation (T − 1) × √bars per year, a ratio.

    Args:
        returns: (T,) simple, per bar.
        bars_per_year: Of the market's calendar.
        risk_free_frac: Return of cash **per bar**.

    Returns:
        NaN for fewer than two bars or where nothing moves.
    """
    _require_year(bars_per_year)
    return sharpe_ratio(returns, risk_free_frac=risk_free_frac) * math.sqrt(bars_per_year)


def annual_sortino(returns: ArrayLike, *, bars_per_year: float, target_frac: float = 0.0) -> float:
    """Return mean ÷ root mean square of what falls short × √bars per year, a ratio.

    Args:
        returns: (T,) simple, per bar.
        bars_per_year: Of the market's calendar.
        target_frac: Return **per bar** below which one falls short. All T bars are in the
            denominator, not only the losing ones.

    Returns:
        NaN for no bar, or where no bar falls short.
    """
    _require_year(bars_per_year)
    excess = inputs.finite_series(returns, "returns") - target_frac
    short = np.minimum(excess, 0.0)
    deepest = float(-short.min()) if len(short) else 0.0
    if deepest < SMALLEST:
        return math.nan
    # Scaled first: the squares of tiny losses would vanish.
    shortfall = deepest * math.sqrt(float(((short / deepest) ** 2).mean()))
    return float(excess.mean()) / shortfall * math.sqrt(bars_per_year)


def annual_calmar(returns: ArrayLike, *, bars_per_year: float) -> float:
    """Return the yearly compounded return ÷ maximum drawdown, a ratio; NaN without a drawdown."""
    deepest = max_drawdown(returns)
    return annual_return(returns, bars_per_year=bars_per_year) / deepest if deepest else math.nan


def max_drawdown(returns: ArrayLike) -> float:
    """Return the largest share lost since a peak, ≥ 0 (1 for ruin); the start is a peak.

    At closes, not annualised. NaN for no bar.
    """
    series = inputs.finite_series(returns, "returns")
    return float(drawdown_of(wealth_of(series)).max()) if len(series) else math.nan


def max_drawdown_bars(returns: ArrayLike) -> float:
    """Return the longest stretch of bars below an earlier peak, recovered or not; NaN for none."""
    series = inputs.finite_series(returns, "returns")
    if len(series) == 0:
        return math.nan
    place = np.arange(len(series) + 1)
    at_peak = drawdown_of(wealth_of(series)) <= 0.0
    return float((place - np.maximum.accumulate(np.where(at_peak, place, 0))).max())


def hit_rate(returns: ArrayLike) -> float:
    """Return the share of bars with a gain among those with a gain or a loss; NaN without any."""
    series = inputs.finite_series(returns, "returns")
    moving = np.count_nonzero(series)
    return float(np.count_nonzero(series > 0.0) / moving) if moving else math.nan


def value_at_risk(returns: ArrayLike, *, level: float = 0.95) -> float:
    """Return the loss per bar that is exceeded in 1 − level of the bars, share.

    Historical quantile, linear between bars; below 0 where even that bar earns. NaN for no bar.
    """
    series = inputs.finite_series(returns, "returns")
    # Rounded: 1 − 0.9 is less than a tenth, and would pass by the bar at the quantile.
    tail = round(1.0 - inputs.require_share(level, "level"), 12)
    return -float(np.quantile(series, tail)) if len(series) else math.nan


def expected_shortfall(returns: ArrayLike, *, level: float = 0.95) -> float:
    """Return the mean loss per bar of the bars at or beyond the value at risk, share."""
    series = inputs.finite_series(returns, "returns")
    if len(series) == 0:
        return math.nan
    return -float(series[series <= -value_at_risk(series, level=level)].mean())


def beta(returns: ArrayLike, reference: ArrayLike) -> float:
    """Return the slope of returns on the reference's, both per bar.

    NaN for fewer than two bars, or where the reference does not move.
    """
    mine, market = _pair(returns, reference)
    if math.isnan(spread_of(market)):
        return math.nan
    scores = market - market.mean()
    scale = float(np.abs(scores).max())
    scores = scores / scale
    return float(scores @ (mine - mine.mean())) / float(scores @ scores) / scale


def annual_alpha(returns: ArrayLike, reference: ArrayLike, *, bars_per_year: float) -> float:
    """Return the intercept of returns on the reference's × bars per year, share; not compounded.

    NaN where beta is.
    """
    mine, market = _pair(returns, reference)
    slope = beta(mine, market)
    if math.isnan(slope):
        return math.nan
    return float(mine.mean() - slope * market.mean()) * bars_per_year


def annual_excess_return(
    returns: ArrayLike, reference: ArrayLike, *, bars_per_year: float
) -> float:
    """Return the yearly compounded return less the reference's, share; NaN for no bar."""
    mine, market = _pair(returns, reference)
    return annual_return(mine, bars_per_year=bars_per_year) - annual_return(
        market, bars_per_year=bars_per_year
    )


def information_ratio(returns: ArrayLike, reference: ArrayLike, *, bars_per_year: float) -> float:
    """Return the annual Sharpe ratio of returns less the reference's; NaN where they never differ.

    Mean ÷ standard deviation (T − 1) of the differences per bar × √bars per year.
    """
    mine, market = _pair(returns, reference)
    return annual_sharpe(mine - market, bars_per_year=bars_per_year)


def _pair(returns: ArrayLike, reference: ArrayLike) -> tuple[FloatArray, FloatArray]:
    mine = inputs.finite_series(returns, "returns")
    market = inputs.finite_series(reference, "reference")
    inputs.same_length(mine, market, "returns and reference")
    return mine, market


def _require_year(bars_per_year: float) -> None:
    if not 0.0 < bars_per_year < math.inf:
        raise ConfigError("bars_per_year must be above 0", was=bars_per_year)


def _finite_worth(equity: ArrayLike) -> FloatArray:
    worth = np.asarray(equity, dtype=np.float64)
    if worth.ndim == 0 or len(worth) == 0 or not np.isfinite(worth).all():
        bad = worth[~np.isfinite(worth)].ravel()
        rule = "equity must have a finite worth at every bar"
        remedy = "Look for a price that is missing while a position is held"
        raise DataError(rule, was=bad[0] if len(bad) else f"shape {worth.shape}", remedy=remedy)
    return worth
