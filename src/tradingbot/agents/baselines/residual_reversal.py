"""Reversal of what a symbol did by itself: long what fell against the market, short what rose.

A cross-sectional rule: targets of all symbols at a bar add up to 0, so that the market's part is
small by construction. It knows an effect of observed hourly bars that is real and too small for
costs, and is the positive control of the judge: see `docs/results/residual_reversal.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.checks import CheckedFields, bounded

FloatArray = NDArray[np.float64]
OWN_MOVE_BARS, SAME_HOUR_BARS = 71, 106
"""Bars before the first at which the last own move, and those of the same hour, are defined."""
_FEWEST = 2
"""Symbols with a bar below which nothing is compared: nothing is held."""


class OwnMoves(NamedTuple):
    """What the rule reads at the close of each bar, (N, T) each; NaN where undefined."""

    residual: FloatArray
    """Last bar's return without the market's part, in its own deviations, within ±2."""
    volatility: FloatArray
    """Standard deviation per bar of the part that is not the market's."""
    same_hour: FloatArray
    """Mean residual at the same hour of the five sessions before, in the same unit."""


@dataclass(frozen=True)
class ReversalConfig(CheckedFields):
    """How much is held, and by what."""

    gross_frac: float = bounded(0.2, "(0, 1]")
    """Mean size of targets, of the largest position."""
    same_hour: float = bounded(0.0, "[0, 10]")
    """Weight of the own move at the same hour of the days before, beside that of the last bar."""

    @property
    def warm_up_bars(self) -> int:
        """Bars before the first decision."""
        return SAME_HOUR_BARS if self.same_hour > 0.0 else OWN_MOVE_BARS


def reversal_targets(moves: OwnMoves, config: ReversalConfig) -> FloatArray:
    """Return targets (N, T) in [−1, 1] that add up to 0 at each bar; 0 where a symbol is unknown.

    −(own move) ÷ own volatility, less the mean over the symbols, scaled to the gross size: each
    symbol stands for as much risk as another. Where one target would exceed 1 all are smaller.
    """
    signal = -moves.residual
    if config.same_hour > 0.0:
        signal = signal - config.same_hour * moves.same_hour
    known = np.isfinite(signal) & (moves.volatility > 0.0)
    known &= known.sum(axis=0) >= _FEWEST
    weight = np.divide(signal, moves.volatility, out=np.zeros_like(signal), where=known)
    count = np.maximum(known.sum(axis=0), 1)
    excess = np.where(known, weight - weight.sum(axis=0) / count, 0.0)
    size = np.abs(excess)
    mean, largest = size.sum(axis=0) / count, size.max(axis=0, initial=0.0)
    moved = mean > 0.0
    scale = np.divide(config.gross_frac, mean, out=np.zeros_like(mean), where=moved)
    limit = np.divide(1.0, largest, out=np.zeros_like(mean), where=moved)
    return np.asarray(excess * np.minimum(scale, limit))
