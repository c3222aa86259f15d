"""The rule expert: five indicators that vote, and a position that is graded by their sum.

It reads RSI, MACD, the position between the Bollinger bands, volume and ADX in the units that
traders know, computed from bars: no scaler decides what it does. Behaviour cloning imitates it and
pre-training asks about it. That it earns anything is not claimed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.agents.policy import PolicyInputs, apply_no_trade_band
from tradingbot.domain.checks import CheckedFields, bounded, require

INDICATOR_BARS = 33
"""Bars before the first at which all indicators are defined; MACD's signal takes longest."""
SIZES = (0.0, 1 / 3, 2 / 3, 1.0)
"""Position by score, of the largest: nothing, small, medium, large."""
_FULL_SCORE = len(SIZES) - 1


class ExpertIndicators(NamedTuple):
    """What the expert reads at the close of each bar, (N, T) each; NaN where undefined."""

    rsi: NDArray[np.float64]
    """Relative strength over 14 bars, 0 to 100."""
    macd: NDArray[np.float64]
    """MACD line less its signal (12, 26, 9); only the sign counts."""
    band: NDArray[np.float64]
    """Place of the close between the Bollinger bands (20, 2): 0 at the lower, 1 at the upper."""
    volume: NDArray[np.float64]
    """Volume ÷ its mean over 20 bars."""
    adx: NDArray[np.float64]
    """Average directional index over 14 bars, 0 to 100."""


@dataclass(frozen=True)
class ExpertLimits(CheckedFields):
    """Where indicators vote."""

    oversold: float = bounded(30.0, "[0, 100]")
    """RSI at or below which it votes to buy."""
    overbought: float = bounded(70.0, "[0, 100]")
    """RSI at or above which it votes to sell."""
    low_band: float = bounded(0.2, "[0, 1]")
    """Place between the bands at or below which it votes to buy …"""
    high_band: float = bounded(0.8, "[0, 1]")
    """… and at or above which to sell."""
    volume_spike: float = bounded(1.5, "> 0")
    """Volume, of its mean, from which on it confirms what the others say."""
    strong_trend: float = bounded(25.0, "[0, 100]")
    """ADX from which on MACD votes; below it, crossings are noise."""

    def __post_init__(self) -> None:
        super().__post_init__()
        rises = self.oversold < self.overbought and self.low_band < self.high_band
        require(rises, "limits to buy must lie below those to sell", self)


def score_signals(seen: ExpertIndicators, limits: ExpertLimits) -> NDArray[np.int64]:
    """Add up the votes of each bar, (N, T) from −4 to 4; above 0 is to buy.

    RSI and the band vote for a return to the mean, MACD for the trend where ADX says that there is
    one. A volume spike adds a vote to the side that has the majority. Undefined ones do not vote.
    """
    with np.errstate(invalid="ignore"):
        votes = _votes(seen.rsi, limits.oversold, limits.overbought)
        votes += _votes(seen.band, limits.low_band, limits.high_band)
        trends = seen.adx >= limits.strong_trend
        votes += np.where(trends, np.sign(np.nan_to_num(seen.macd)), 0.0).astype(np.int64)
        confirms = seen.volume >= limits.volume_spike
    return votes + np.where(confirms, np.sign(votes), 0)


def _votes(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.int64]:
    return (values <= low).astype(np.int64) - (values >= high).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Expert:
    """Raises a position to what the score is worth, lowers it where the score is negative.

    Score 1, 2, 3 or more: at least a third, two thirds, the whole of the largest position. −1: at
    most a third is kept; −2 or less: nothing. 0: what is held stays.
    """

    scores: Tensor
    """(N · T,) int64 by row of the market."""

    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Return targets (B,): a graded position, or the one that is held."""
        score, size = self.scores.to(seen.row.device)[seen.row], seen.size
        sizes = torch.tensor(SIZES, dtype=size.dtype, device=size.device)
        least = sizes[score.clamp(0, _FULL_SCORE)]
        most = torch.where(score < 0, sizes[(2 + score).clamp(0, _FULL_SCORE)], torch.inf)
        return apply_no_trade_band(size.clamp(least, most), size)

    def positions(self, n_symbols: int) -> NDArray[np.float64]:
        """Return what it holds after each bar, (N, T), where it gets what it asks for at once.

        From flat on, the same as asking bar by bar: sizes lie farther apart than the band.
        """
        scores, sizes = self.scores.numpy().reshape(n_symbols, -1).T, np.array(SIZES)
        least = sizes[scores.clip(0, _FULL_SCORE)]
        most = np.where(scores < 0, sizes[(2 + scores).clip(0, _FULL_SCORE)], np.inf)
        held, before = np.empty(scores.shape), np.zeros(n_symbols)
        for now, low, high in zip(held, least, most, strict=True):
            np.minimum(np.maximum(before, low, out=now), high, out=now)
            before = now
        return held.T


def make_expert(seen: ExpertIndicators, limits: ExpertLimits) -> Expert:
    """Return the expert of a market's bars."""
    return Expert(torch.from_numpy(score_signals(seen, limits).ravel()))
