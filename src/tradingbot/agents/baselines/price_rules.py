"""Rules that read closes: momentum, MACD and the crossing of two means, long or short by a sign.

Closes are carried over absent bars, never from later ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.checks import CheckedFields, bounded, require, require_kinds

FloatArray = NDArray[np.float64]


def carry_forward(closes: FloatArray) -> FloatArray:
    """Carry closes (N, T) forward over absent bars (NaN); NaN stays before the first."""
    position = np.where(np.isfinite(closes), np.arange(closes.shape[1]), -1)
    seen = np.maximum.accumulate(position, axis=1)
    values = np.take_along_axis(closes, np.maximum(seen, 0), axis=1)
    return np.where(seen >= 0, values, np.nan)


def moving_mean(closes: FloatArray, n_bars: int) -> FloatArray:
    """Return the mean of the last closes (N, T); NaN until there are `n_bars` of them."""
    windows = np.full_like(closes, np.nan)
    if closes.shape[1] >= n_bars:
        view = np.lib.stride_tricks.sliding_window_view(closes, n_bars, axis=1)
        windows[:, n_bars - 1 :] = view.mean(axis=-1)
    return windows


def exponential_mean(closes: FloatArray, span_bars: int) -> FloatArray:
    """Return the exponential mean of closes (N, T) from the first one on; NaN before."""
    weight, means = 2.0 / (span_bars + 1.0), np.empty_like(closes)
    now = np.full(len(closes), np.nan)
    for bar, close in enumerate(closes.T):
        now = np.where(np.isfinite(now), now + weight * (close - now), close)
        means[:, bar] = now
    return means


def sign_or_flat(values: FloatArray) -> FloatArray:
    """Return −1, 0 or 1 (N, T); 0 where a value is not known yet."""
    return np.where(np.isfinite(values), np.sign(values), 0.0)


@dataclass(frozen=True)
class MomentumConfig(CheckedFields):
    """How far back momentum looks: long what rose over the lookback, short what fell."""

    lookback_bars: int = bounded(1_764, ">= 1")
    """Twelve months of hourly bars."""


QUARTER = MomentumConfig(lookback_bars=441)
"""Three months of hourly bars, for data that hold little more than a year."""


def momentum_targets(closes: FloatArray, config: MomentumConfig | None = None) -> FloatArray:
    """Return −1, 0 or 1 for each symbol and bar (N, T); 0 until the lookback is there.

    Source: Moskowitz, Ooi and Pedersen, 2012, Time series momentum; twelve months there. Without
    their scaling by volatility: a sleeve is as large as it is.
    """
    lookback, known = (config or MomentumConfig()).lookback_bars, carry_forward(closes)
    change = np.full_like(known, np.nan)
    change[:, lookback:] = known[:, lookback:] / known[:, :-lookback] - 1.0
    return sign_or_flat(change)


@dataclass(frozen=True)
class CrossConfig:
    """Lengths of the two means."""

    fast_bars: int = 20
    slow_bars: int = 50

    def __post_init__(self) -> None:
        """Refuse means that do not differ."""
        require_kinds(self)
        require(1 <= self.fast_bars < self.slow_bars, "fast_bars must be below slow_bars", self)


@dataclass(frozen=True)
class MacdConfig(CrossConfig):
    """Spans of the two exponential means."""

    fast_bars: int = 12
    slow_bars: int = 26


def macd_targets(closes: FloatArray, config: MacdConfig | None = None) -> FloatArray:
    """Return the sign of MACD (N, T): the fast exponential mean of closes less the slow one.

    0 for the first `slow_bars` closes. Source: Appel, 1979.
    """
    config, known = config or MacdConfig(), carry_forward(closes)
    gap = exponential_mean(known, config.fast_bars) - exponential_mean(known, config.slow_bars)
    young = np.cumsum(np.isfinite(known), axis=1) < config.slow_bars
    return sign_or_flat(np.where(young, np.nan, gap))


def cross_targets(closes: FloatArray, config: CrossConfig | None = None) -> FloatArray:
    """Return the sign (N, T) of the fast moving mean less the slow one; 0 until both are there."""
    config, known = config or CrossConfig(), carry_forward(closes)
    return sign_or_flat(moving_mean(known, config.fast_bars) - moving_mean(known, config.slow_bars))


PRICE_RULES: Mapping[str, MomentumConfig | CrossConfig] = MappingProxyType(
    {
        "momentum": MomentumConfig(),
        "momentum_quarter": QUARTER,
        "macd": MacdConfig(),
        "sma_cross": CrossConfig(),
    }
)
"""Name → parameters of the rules of this file, told without torch."""
