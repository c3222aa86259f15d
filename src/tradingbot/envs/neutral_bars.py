"""Training bars without what all symbols share: the market factor's moves are taken out of prices.

The market does not answer to what agents do. For any policy with exposure w the mean of what it
earns on these bars differs from that on the real ones by β · cov(w, m) + β · mean(w) · (mean(m) −
μ̂), bar by bar exactly w · β · (m − μ̂): timing of the market, which is not learned here, and the
part of the premium that the training bars do not bear out. All else that is earned is the same,
with less noise around it: the noise that agents share and their number does not average out (where
there is less of it; see `remove_factor`).

What is seen (features, regimes, probabilities) stays that of the real bars, bit for bit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.factor import MarketFactor, bar_returns
from tradingbot.data.splits import IndexRange
from tradingbot.envs.world import World

FloatArray = NDArray[np.float64]
_LEAST_RATIO = 0.01
"""A price falls by 99 % in a bar at most, whatever the market did."""


def remove_factor(world: World, factor: MarketFactor, bars: IndexRange) -> World:
    """Return a world in whose `bars` symbols do not move with the market.

    Gap and move within the bar lose β · (m − μ̂) each, as simple returns of the close before; high
    and low keep their distance from open and close. Bars before keep their prices to the bit, bars
    after their moves. Without a factor the world is returned as it is, and symbols that are the
    market themselves (`factor.own`) are not changed. Where few symbols hardly move together, taking
    the others out adds more noise than it removes: then the world is returned as it is, too.

    Args:
        world: Of N symbols.
        factor: Of the same symbols and bars, with betas of `bars` or bars before them alone.
        bars: To learn from.
    """
    if factor.own.all() or not factor.beta.any():
        return world
    before = bar_returns(world.prices, world.present)
    chosen = np.zeros(world.n_bars, dtype=bool)
    chosen[bars.start : bars.stop] = True
    beta = np.where(factor.own, 0.0, factor.beta)[:, None]
    known = np.isfinite(before.whole) & chosen
    gap, whole = (
        np.where(known, beta * (part - shrunk_premium(part, known)), 0.0) for part in factor.returns
    )
    if _variance(before.whole - whole, known) >= _variance(before.whole, known):
        return world
    opened, closed = (
        np.maximum(1.0 + np.nan_to_num(real) - removed, _LEAST_RATIO)
        for real, removed in ((before.gap, gap), (before.whole, whole))
    )
    ratio = np.where(known, closed / (1.0 + np.nan_to_num(before.whole)), 1.0)
    level: FloatArray = np.cumprod(ratio, axis=1, dtype=np.float64)
    earlier = np.concatenate([np.ones((world.n_symbols, 1)), level[:, :-1]], axis=1)
    open_level = np.where(known, opened / (1.0 + np.nan_to_num(before.gap)), 1.0) * earlier
    prices = _with_levels(world.prices, open_level, level)
    vwap = world.vwap
    if vwap is not None:
        vwap = np.clip(vwap * level, prices[..., 2], prices[..., 1])
    label = f"{world.label}, {factor.words} taken out of training bars"
    return replace(world, prices=prices, vwap=vwap, label=label)


def shrunk_premium(market: FloatArray, known: NDArray[np.bool_]) -> FloatArray:
    """Return the mean (N, 1) of the market over known bars (N, T), shrunk towards 0 by its error.

    Times t² ÷ (1 + t²): a mean of one standard error is halved, one of three stays almost whole.
    """
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    mean = np.where(known, market, 0.0).sum(axis=1, keepdims=True) / count
    spread = np.where(known, (market - mean) ** 2, 0.0).sum(axis=1, keepdims=True)
    error = spread / count**2
    total = mean**2 + error
    return np.asarray(mean * np.divide(mean**2, total, out=np.zeros_like(mean), where=total > 0.0))


def _variance(returns: FloatArray, known: NDArray[np.bool_]) -> float:
    """Return the variance of returns (N, T) over known bars, mean of the symbols that have any."""
    count = known.sum(axis=1)
    mean = np.where(known, returns, 0.0).sum(axis=1) / np.maximum(count, 1)
    square = np.where(known, (returns - mean[:, None]) ** 2, 0.0).sum(axis=1)
    return float((square / np.maximum(count, 1))[count > 0].mean())


def _with_levels(prices: FloatArray, opens: FloatArray, closes: FloatArray) -> FloatArray:
    """Scale open and close (N, T); high and low stay as far from them as they were."""
    changed = np.array(prices)
    changed[..., 0], changed[..., 3] = prices[..., 0] * opens, prices[..., 3] * closes
    for column, furthest in ((1, np.maximum), (2, np.minimum)):
        beyond = prices[..., column] / furthest(prices[..., 0], prices[..., 3])
        changed[..., column] = beyond * furthest(changed[..., 0], changed[..., 3])
        changed[..., column] = furthest(
            changed[..., column], furthest(changed[..., 0], changed[..., 3])
        )
    same = (opens == 1.0) & (closes == 1.0)
    changed[same] = prices[same]
    return changed
