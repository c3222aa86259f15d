"""What the markets with a linear edge share: AR(1) paths, noise, and bars around given returns.

In all of them a bar opens exactly where the one before closed, so a position decided at close t
and filled at open t+1 earns the simple return of bar t+1, nothing else. Where the edge comes from
belongs in `planted` and `hidden`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.synthetic.market import FloatArray, GridSpec, MarketParams, SyntheticMarket
from tradingbot.domain.seeding import stream

_MAX_RETURN_FRAC = 0.5
"""Bound of one bar's return; beyond nine standard deviations at the largest volatility allowed."""
_RANGE_SHARE = 0.5
"""Mean overshoot of a bar's extremes beyond its open and close, in units of `vol_frac`."""
_VOLUME_SPREAD = 0.35
"""Standard deviation of the log of volume around a symbol's mean."""


def draw_ar1(rng: np.random.Generator, shape: tuple[int, int], *, phi: float) -> FloatArray:
    """Draw stationary AR(1) paths of unit variance, one per column.

    Row t depends on draws up to row t only: a longer path begins with the shorter one.

    Args:
        rng: Source of the innovations.
        shape: (T, N).
        phi: Persistence per bar, in [0, 1).
    """
    paths = rng.standard_normal(shape)
    innovation = np.sqrt(1.0 - phi**2)
    for t in range(1, shape[0]):
        paths[t] = phi * paths[t - 1] + innovation * paths[t]
    return paths


def draw_noise(
    rng: np.random.Generator, shape: tuple[int, int], *, correlation: float = 0.0
) -> FloatArray:
    """Draw (T, N) standard normal noise, equally correlated between symbols, not over time."""
    draws = rng.standard_normal((shape[0], shape[1] + 1))
    noise: FloatArray = (
        np.sqrt(correlation) * draws[:, :1] + np.sqrt(1.0 - correlation) * draws[:, 1:]
    )
    return noise


def build_market(  # noqa: PLR0913 - everything a market consists of besides its returns
    name: str,
    grid: GridSpec,
    seed: int,
    *,
    simple_returns: FloatArray,
    vol_frac: float,
    covariates: Mapping[str, FloatArray],
    latent: Mapping[str, NDArray[Any]],
    params: MarketParams,
) -> SyntheticMarket:
    """Build bars around simple returns; range and volume say nothing about later returns.

    Args:
        name: Name of the market.
        grid: Symbols and closing times.
        seed: Root seed; streams for start prices, ranges and volumes are split off it.
        simple_returns: (T, N) open-to-close return of each bar; bounded so that prices stay > 0.
        vol_frac: Standard deviation of a bar's return, scales the ranges.
        covariates: name → (T, N), available at the close of the same row.
        latent: name → array that only oracles may read.
        params: Parameters to record.
    """
    shape = grid.shape
    start = np.exp(stream(seed, name, "start_price").uniform(np.log(20.0), np.log(400.0), shape[1]))
    growth = 1.0 + np.clip(simple_returns, -_MAX_RETURN_FRAC, _MAX_RETURN_FRAC)
    closes = start * np.cumprod(growth, axis=0)
    opens = np.vstack([start[None, :], closes[:-1]])
    overshoot = _RANGE_SHARE * vol_frac * stream(seed, name, "range").exponential(size=(*shape, 2))
    highs = np.maximum(opens, closes) * np.exp(overshoot[..., 0])
    lows = np.minimum(opens, closes) * np.exp(-overshoot[..., 1])
    return SyntheticMarket(
        name=name,
        symbols=grid.symbols,
        closed_at=grid.closed_at,
        opens=opens,
        highs=highs,
        lows=lows,
        closes=closes,
        volumes=_draw_volumes(seed, name, shape),
        vwaps=np.clip((opens + highs + lows + closes) / 4.0, lows, highs),
        covariates=covariates,
        latent=latent,
        params=params.model_dump(),
        seed=seed,
    )


def _draw_volumes(seed: int, name: str, shape: tuple[int, int]) -> FloatArray:
    mean = stream(seed, name, "mean_volume").uniform(np.log(2e4), np.log(2e6), shape[1])
    spread = stream(seed, name, "volume").standard_normal(shape)
    return np.asarray(np.rint(np.exp(mean + _VOLUME_SPREAD * spread)))
