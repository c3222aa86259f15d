"""Dictated markets: prices for which the right answer is known before an environment is run.

A price that does not move stands still within its bars, so that only costs change an account. Where
it moves, open, high, low and close are four numbers, and a mark at another than the close shows.
Every market here is synthetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

PRICE_CCY = 100.0
GAP_PRICE_CCY = 200.0
N_BARS = 64
_VOLUME_UNITS = 1e9  # so deep that no order of a check moves or exhausts it
_STAIRS_CCY = (1.0, 2.0, 1.0, 3.0)
_OPEN_FRAC, _HIGH_FRAC, _LOW_FRAC = 0.2, 0.1, 0.15  # of the move from close to close


@dataclass(frozen=True)
class DictatedBars:
    """One symbol, T bars, the first of which may be lead-in that no decision is made on."""

    opens: NDArray[np.float64]
    """(T,) price per unit at which the bar opens."""
    highs: NDArray[np.float64]
    """(T,)"""
    lows: NDArray[np.float64]
    """(T,)"""
    closes: NDArray[np.float64]
    """(T,)"""
    volumes: NDArray[np.float64]
    """(T,) units traded."""

    def __len__(self) -> int:
        return len(self.closes)


def dictate(prices: Sequence[float], *, lead_bars: int = 0) -> DictatedBars:
    """Make bars that close at `prices`, after `lead_bars` bars that stand at the first of them.

    A bar opens after four fifths of its move from the close before, and its high and low lie a
    little beyond open and close.

    Args:
        prices: One price per bar; the first is the one shown in the first observation.
        lead_bars: Bars an environment must have before its first observation.
    """
    closes = np.array([prices[0]] * lead_bars + list(prices), dtype=np.float64)
    move = np.diff(closes, prepend=closes[0])
    opens, reach = closes - _OPEN_FRAC * move, np.abs(move)
    return DictatedBars(
        opens,
        np.maximum(opens, closes) + _HIGH_FRAC * reach,
        np.minimum(opens, closes) - _LOW_FRAC * reach,
        closes,
        np.full(len(closes), _VOLUME_UNITS),
    )


def with_other_future(bars: DictatedBars, cut: int, factor: float) -> DictatedBars:
    """Multiply every price and volume after bar `cut`, lead-in counted; no bit before it moves."""
    by = np.where(np.arange(len(bars)) > cut, factor, 1.0)
    return DictatedBars(*(getattr(bars, each.name) * by for each in fields(bars)))


def with_other_close(bars: DictatedBars, at_bar: int) -> DictatedBars:
    """Move the close of one bar, lead-in counted, half way to its open; everything else stays."""
    closes = bars.closes.copy()
    closes[at_bar] = 0.5 * (bars.opens[at_bar] + closes[at_bar])
    return replace(bars, closes=closes)


def flat(n_bars: int = N_BARS) -> list[float]:
    """Return a price that never moves: only costs can change an account."""
    return [PRICE_CCY] * n_bars


def gap(at_bar: int, n_bars: int = N_BARS, *, price_after: float = GAP_PRICE_CCY) -> list[float]:
    """Return a price that jumps between bar `at_bar` and the next, and nowhere else."""
    return [PRICE_CCY if bar <= at_bar else price_after for bar in range(n_bars)]


def stairs(n_bars: int = N_BARS) -> list[float]:
    """Return a price that rises at every bar, by steps that are not all equal."""
    rises = [_STAIRS_CCY[bar % len(_STAIRS_CCY)] for bar in range(n_bars - 1)]
    return [PRICE_CCY, *(PRICE_CCY + float(rise) for rise in np.cumsum(rises))]


def alternate(n_bars: int = N_BARS) -> list[float]:
    """Return a price that goes 10 % up and back again for ever."""
    return [PRICE_CCY * (1.0 + 0.1 * (bar % 2)) for bar in range(n_bars)]
