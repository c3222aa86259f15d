"""A signal of known strength in given bars, observed or generated; market `planted_regimes`.

The simple return of bar t+1 from its open to its close gets + κ · σ_t · x_t on top of what it was:
x is the covariate `signal` at close t, an AR(1) of unit variance of its own for every symbol, and σ
the volatility of the symbol's returns up to t. A position decided at close t and filled at open t+1
earns it. Gaps, volume, calendar, absent bars, how far high and low lie beyond open and close, and
how symbols move together stay what they were; variance grows by about κ².

`planted_regimes` is the market `regimes` with such a signal, `sentiment` beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tradingbot.data.bar_moves import BarArrays, Moves, moves_from, rebuilt
from tradingbot.data.synthetic.factors import autoregression, normals
from tradingbot.data.synthetic.market import FloatArray, GridSpec, MarketSpec, SyntheticMarket
from tradingbot.data.synthetic.regime_params import RegimesParams
from tradingbot.data.synthetic.regimes import generate_regimes
from tradingbot.domain.errors import ConfigError

SIGNAL = "signal"
"""Name of the covariate that carries what was planted."""
_HALF_LIFE_BARS = 70
"""Of the volatility's memory: two weeks of hourly bars."""
_FEWEST_RETURNS = 20
"""Returns of a symbol before its volatility is known; nothing is planted until then."""
_MAX_SHARE = 0.5
"""A bar's close moves by no more than this fraction, so that prices stay above 0."""


@dataclass(frozen=True, eq=False)
class SpikedBars:
    """Bars with a planted signal, and what only an oracle knows of it; (T, N) each."""

    bars: BarArrays
    signal: FloatArray
    """Known at close t, for the bar after; NaN where the symbol has no bar."""
    volatility: FloatArray
    """Of a bar's simple return, known at close t; 0 where nothing is planted yet."""


def plant_signal(
    bars: BarArrays, symbols: Sequence[str], *, kappa: float, phi: float, seed: int
) -> SpikedBars:
    """Plant a signal of known strength; with κ = 0 the bars are the same to the bit.

    The signal of a symbol depends on seed and name alone: other symbols, other strengths and
    earlier ends of the bars leave it as it is.

    Args:
        bars: Observed or generated, (T, N), NaN where there is none.
        symbols: N, in the order of the columns.
        kappa: Expected return of the next bar per unit of signal, in units of volatility.
        phi: Persistence of the signal per bar, in [0, 1).
        seed: Root of the streams that draw the signal.

    Raises:
        ConfigError: If strength or persistence is out of range.
    """
    if not (0.0 <= kappa <= 1.0 and 0.0 <= phi < 1.0):
        was = f"kappa {kappa:g}, phi {phi:g}"
        raise ConfigError("kappa must lie in [0, 1] and phi in [0, 1)", was=was)
    present = np.isfinite(bars.close)
    names = [("spike_in", symbol) for symbol in symbols]
    draws = normals(seed, names, SIGNAL, len(present) + 1)
    steps = np.sqrt(1.0 - phi**2) * draws[1:]
    signal = autoregression(draws[0], np.full(len(present), phi), steps)
    volatility = causal_volatility(bars.close)
    changed = bars
    if kappa > 0.0:
        planted = np.zeros_like(signal)
        is_seen = present[1:] & present[:-1]
        planted[1:] = np.where(is_seen, kappa * volatility[:-1] * signal[:-1], 0.0)
        changed = rebuilt(bars, 0, _moved(moves_from(bars, 0), planted))
    return SpikedBars(changed, np.where(present, signal, np.nan), volatility)


def causal_volatility(closes: FloatArray) -> FloatArray:
    """Estimate the volatility of a bar's simple return from close to close, known at each close.

    Root of the exponentially weighted mean square of the returns up to t, weights that sum to one
    from the first; the mean return of a bar is taken for 0.

    Args:
        closes: (T, N) prices, NaN where there is no bar.

    Returns:
        (T, N), 0 until a symbol has 20 returns.
    """
    keep, present = 0.5 ** (1.0 / _HALF_LIFE_BARS), np.isfinite(closes)
    place = np.maximum.accumulate(np.where(present, np.arange(len(closes))[:, None], -1), axis=0)
    before = np.concatenate([np.full((1, closes.shape[1]), -1), place[:-1]])
    known = present & (before >= 0)
    last = np.take_along_axis(closes, np.maximum(before, 0), axis=0)
    change = np.divide(closes, last, out=np.ones_like(closes), where=known) - 1.0
    square, count = _mean_squares(keep, known, (1.0 - keep) * change**2), known.cumsum(axis=0)
    ones = np.full((len(closes) + 1, 1), 1.0 - keep)
    weight = _mean_squares(keep, ones > 0.0, ones)[:, 0]  # after one return, two, …
    ready = count >= _FEWEST_RETURNS
    found = np.divide(square, weight[count - 1], out=np.zeros_like(square), where=ready)
    return np.asarray(np.sqrt(found))


def _mean_squares(keep: float, known: NDArray[np.bool_], steps: FloatArray) -> FloatArray:
    """Run x[t] = keep · x[t − 1] + steps[t] where a step is known, (T, N) from 0 on."""
    columns = []
    # Plain numbers, one column after another: rows of a few symbols are too short for arrays.
    for there, column in zip(known.T.tolist(), steps.T.tolist(), strict=True):
        x, path = 0.0, []
        for is_known, step in zip(there, column, strict=True):
            if is_known:
                x = keep * x + step
            path.append(x)
        columns.append(path)
    return np.ascontiguousarray(np.array(columns).reshape(steps.shape[::-1]).T)


def _moved(moves: Moves, planted: FloatArray) -> Moves:
    """Add simple returns (T, N) from open to close; the extremes lie as far beyond as before."""
    growth = np.exp(moves.close)
    close = np.log(growth + np.clip(planted, -_MAX_SHARE * growth, _MAX_SHARE * growth))
    high = moves.high - np.maximum(0.0, moves.close) + np.maximum(0.0, close)
    low = moves.low - np.minimum(0.0, moves.close) + np.minimum(0.0, close)
    width = moves.high - moves.low
    middle = np.full_like(width, 0.5)
    place = np.divide(moves.vwap - moves.low, width, out=middle, where=width > 0.0)
    return moves._replace(close=close, high=high, low=low, vwap=low + place * (high - low))


class PlantedRegimesParams(RegimesParams):
    """The realistic market, and strength and persistence of the signal in it."""

    kappa: float = Field(default=0.10, ge=0.0, le=1.0)
    """Expected return per unit of signal, in units of the symbol's volatility."""
    phi: float = Field(default=0.9, ge=0.0, le=0.999)
    """Persistence of the signal per bar."""


def generate_planted_regimes(
    params: PlantedRegimesParams, grid: GridSpec, seed: int
) -> SyntheticMarket:
    """Generate the market `regimes` and plant a signal; with κ = 0 the signal means nothing."""
    market = generate_regimes(params, grid, seed)
    names = ("opens", "highs", "lows", "closes", "volumes", "vwaps")
    bars = BarArrays(*(getattr(market, name) for name in names))
    spiked = plant_signal(bars, grid.symbols, kappa=params.kappa, phi=params.phi, seed=seed)
    columns: dict[str, Any] = dict(zip(names, spiked.bars, strict=True))
    return replace(
        market,
        name=SPEC.name,
        **columns,
        covariates={**market.covariates, SIGNAL: spiked.signal},
        latent={**market.latent, "volatility": spiked.volatility},
        params=params.model_dump(),
    )


SPEC = MarketSpec(
    name="planted_regimes",
    summary="Realistic bars as regimes, with an observable AR(1) signal of known strength",
    defaults=PlantedRegimesParams,
    generate=generate_planted_regimes,
)
