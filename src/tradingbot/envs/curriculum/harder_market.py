"""What the knobs of difficulty do to a market: bars, features and costs, changed causally.

A bar depends on bars up to itself and on noise drawn by seed, and it is changed before features
are computed. The knobs, and the controller that turns them, are in `market.curriculum.difficulty`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.seeding import stream
from tradingbot.envs.build_world import world_from_bars
from tradingbot.envs.world import World
from tradingbot.features.covariates import WEEKDAY
from tradingbot.features.inputs import BAR_FIELDS
from tradingbot.features.registry import technical_features
from tradingbot.market.bars import VOLATILITY_BARS
from tradingbot.market.costs import CostRates
from tradingbot.market.curriculum.difficulty import Knobs

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_LARGEST_FALL = -0.9  # of one bar, so that a price stays above 0 whatever the multiplier


def harder_rates(rates: CostRates, spread_frac: Tensor | float) -> CostRates:
    """Widen the spread, () or (B,): a tensor among the arguments, so nothing is compiled anew."""
    return rates._replace(spread_frac=rates.spread_frac + spread_frac)


def harder_bars(prices: FloatArray, present: BoolArray, knobs: Knobs, *, seed: int) -> FloatArray:
    """Change bars as the knobs say; expected simple returns are scaled or turned, never shifted.

    Args:
        prices: (N, T, 5) open, high, low, close, volume; NaN where absent.
        present: (N, T) there is a bar.
        knobs: What to do; `spread_frac` is not for prices.
        seed: Of the noise. The same seed gives the same noise at every level.

    Returns:
        (N, T, 5); bar t depends on bars up to t. Volume is unchanged, absent bars stay NaN.
    """
    changed = prices.copy()
    for symbol in range(prices.shape[0]):
        rows = np.flatnonzero(present[symbol])
        if len(rows):
            rng = stream(seed, "difficulty", symbol)
            draws = rng.standard_normal((prices.shape[1], 2))[rows]
            lasts = stream(seed, "regimes", symbol).random((prices.shape[1],))[rows]
            turns = np.where(lasts < knobs.regime_stability, 1.0, -1.0)
            side: FloatArray = np.multiply.accumulate(turns, dtype=np.float64)
            changed[symbol, rows, :4] = _harder(prices[symbol, rows, :4], draws, side, knobs)
    return changed


def _harder(bars: FloatArray, draws: FloatArray, side: FloatArray, knobs: Knobs) -> FloatArray:
    """Change the bars (K, 4) of one symbol; `side` (K,) is −1 where regimes are turned round."""
    open_, high, low, close = bars.T
    before = np.concatenate([open_[:1], close[:-1]])
    gap, body = open_ / before - 1.0, close / open_ - 1.0
    volatility = _volatility_before(close)
    clarity, factor = knobs.trend_clarity, knobs.volatility_factor
    shock = np.sqrt(1.0 - clarity**2) * volatility * draws[:, 0]
    gap = np.maximum(factor * clarity * side * gap, _LARGEST_FALL)
    body = np.maximum(factor * (clarity * side * body + shock), _LARGEST_FALL)
    passing = np.exp(knobs.noise_frac * factor * volatility * draws[:, 1])
    lasting = open_[0] * np.cumprod((1.0 + gap) * (1.0 + body))
    new_close = lasting * passing
    new_open = np.concatenate([open_[:1], new_close[:-1]]) * (1.0 + gap)
    above = np.log(high / np.maximum(open_, close))
    below = np.log(np.minimum(open_, close) / low)
    new_high = np.maximum(new_open, new_close) * np.exp(factor * above)
    new_low = np.minimum(new_open, new_close) * np.exp(-factor * below)
    return np.stack((new_open, new_high, new_low, new_close), axis=-1)


def _volatility_before(close: FloatArray) -> FloatArray:
    """Root mean square (K,) of the last simple returns before each bar; 0 until there is one."""
    squares = np.concatenate([[0.0], np.diff(close) / close[:-1]]) ** 2
    total = np.concatenate([[0.0], np.cumsum(squares)])  # of bars before each
    bar = np.arange(len(close))
    first = np.maximum(bar - VOLATILITY_BARS, 1)
    count = np.maximum(bar - first, 1)
    spread = np.maximum(total[bar] - total[np.minimum(first, bar)], 0.0)
    return np.asarray(np.sqrt(spread / count))


def harder_world(world: World, knobs: Knobs, *, seed: int) -> World:
    """Change a world's bars and compute its features anew.

    Covariates and supervised probabilities stay as they were: with `trend_clarity` below 1 they
    say less about what comes. Features are scaled by the changed world's own training bars.
    """
    if replace(knobs, spread_frac=0.0) == Knobs():
        return world
    changed = world_from_bars(
        harder_bars(world.prices, world.present, knobs, seed=seed),
        world.present,
        world.closed_at,
        world.symbols,
        label=f"{world.label}, made harder: volatility × {knobs.volatility_factor:g}, "
        f"trend clarity {knobs.trend_clarity:g}, noise {knobs.noise_frac:g}, "
        f"regime stability {knobs.regime_stability:g}",
        synthetic=True,  # whatever it was before, these bars were not observed
    )
    known = {*BAR_FIELDS, WEEKDAY.name}
    of_bars = {spec.name for spec in technical_features() if known.issuperset(spec.inputs)}
    columns = [
        changed.features[..., changed.feature_names.index(name)]
        if name in of_bars
        else world.features[..., position]
        for position, name in enumerate(world.feature_names)
    ]
    return replace(
        changed,
        features=np.stack(columns, axis=-1),
        feature_names=world.feature_names,
        probabilities=world.probabilities,
        usable=changed.usable & world.usable,
    )
