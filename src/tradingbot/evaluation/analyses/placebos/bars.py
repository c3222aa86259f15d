"""Placebo bars: what a pipeline gets when there must be nothing, or nothing of one kind, to find.

Bars are (N, T, 5) open, high, low, close, volume, NaN where there is none. Each function returns
new bars that are positive and keep low ≤ open, close ≤ high; features must be computed from them
anew, since features of the true bars would smuggle the truth back in. All symbols are treated
alike in time, so that what moves together keeps moving together.

- `shuffle_bars` destroys the order in time: trends, reversion, clusters of volatility. It keeps
  every bar's shape and volume, its place within a block (the time of day), the multiset of returns,
  the cross-section and the total return, so that holding earns what it did.
- `flip_bars_at_random` destroys drift, and the sign of what follows what. It keeps the size and
  order of moves, volume, and how symbols move together.
- `flip_bars` changes the sign of drift and of every move. It keeps size, order and autocorrelation
  of log returns: trends stay trends, so that it tests a bias to one side.
- `reverse_bars` destroys which came first. It keeps the size of moves, clusters of volatility and
  symmetric autocorrelation, and changes the sign of drift.

A bar that is absent moves like the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.agents.baselines.price_rules import carry_forward
from tradingbot.data.bar_moves import BarArrays, Moves, moves_from, rebuilt
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.statistics.inputs import FloatArray, require_count

Change = Callable[[FloatArray], FloatArray]
"""(N, S, 5) bars → others."""
_OPEN, _HIGH, _LOW, _CLOSE, _VOLUME = range(5)


class _Moves(NamedTuple):
    """Bars as logarithms relative to what came before; NaN where there is no bar."""

    gap: FloatArray
    """(N, T) open ÷ last close; 0 for a symbol's first bar."""
    high: FloatArray
    """(N, T) high ÷ open, ≥ 0."""
    low: FloatArray
    """(N, T) low ÷ open, ≤ 0."""
    close: FloatArray
    """(N, T) close ÷ open."""
    volume: FloatArray
    """(N, T)"""


def shuffle_bars(bars: FloatArray, *, block_bars: int = 1, seed: int = 0) -> FloatArray:
    """Draw the bars of all symbols in another order; each stays at its place within a block.

    With blocks of one trading day the time of day is kept, overnight gaps included, and nothing of
    what followed what. Each bar keeps its return since the last close; the first one drawn has it
    since the true first open.

    Args:
        bars: (N, T, 5).
        block_bars: Length of a block; the last one may be shorter.
        seed: Root of the stream that draws the order.

    Raises:
        DataError: If bars are not (N, T, 5), not positive, or break low ≤ open, close ≤ high.
    """
    _require_bars(bars)
    size = require_count(block_bars, "block_bars")
    draws, drawn = stream(seed, "placebo", "shuffle"), np.arange(bars.shape[1])
    for place in range(min(size, len(drawn))):
        drawn[place::size] = draws.permutation(drawn[place::size])
    moves = _Moves(*(part[:, drawn] for part in _moves_of(bars)))
    return _bars_of(moves, _first_open(bars))


def flip_bars_at_random(bars: FloatArray, *, block_bars: int = 1, seed: int = 0) -> FloatArray:
    """Turn rises into falls and back in about half of the blocks, for all symbols at once.

    Args:
        bars: (N, T, 5).
        block_bars: Length of a block of one sign.
        seed: Root of the stream that draws signs.

    Raises:
        DataError: If bars are not (N, T, 5), not positive, or break low ≤ open, close ≤ high.
    """
    _require_bars(bars)
    blocks = _blocks(bars.shape[1], block_bars)
    flips = stream(seed, "placebo", "signs").random(len(blocks)) < 0.5
    flipped = np.repeat(flips, [len(block) for block in blocks])
    moves = _moves_of(bars)
    turned = _flipped(moves)
    mixed = _Moves(*(np.where(flipped, new, old) for new, old in zip(turned, moves, strict=True)))
    return _bars_of(mixed, _first_open(bars))


def flip_bars(bars: FloatArray) -> FloatArray:
    """Turn every rise into a fall of the same log return and back; volume stays.

    Raises:
        DataError: If bars are not (N, T, 5), not positive, or break low ≤ open, close ≤ high.
    """
    _require_bars(bars)
    return _bars_of(_flipped(_moves_of(bars)), _first_open(bars))


def reverse_bars(bars: FloatArray) -> FloatArray:
    """Play the bars backwards: the last comes first, opens and closes change places.

    Raises:
        DataError: If bars are not (N, T, 5), not positive, or break low ≤ open, close ≤ high.
    """
    _require_bars(bars)
    return np.ascontiguousarray(bars[:, ::-1, [_CLOSE, _HIGH, _LOW, _OPEN, _VOLUME]])


def _require_bars(bars: FloatArray) -> None:
    if bars.ndim != 3 or bars.shape[2] != 5 or bars.shape[1] == 0:
        raise DataError("bars must be (symbols, bars, 5)", was=f"shape {bars.shape}")
    prices = bars[..., :_VOLUME]
    there = np.isfinite(bars[..., _CLOSE])
    known = bars[there]
    if np.isfinite(prices[~there]).any() or not np.isfinite(known).all():
        raise DataError("a bar must be whole or absent", was="a part of it is NaN or infinite")
    if (known[:, :_VOLUME] <= 0.0).any() or (known[:, _VOLUME] < 0.0).any():
        raise DataError("prices must be above 0 and volumes 0 or more", was=known.min())
    inner = known[:, [_OPEN, _CLOSE]]
    if (inner.max(axis=1) > known[:, _HIGH]).any() or (inner.min(axis=1) < known[:, _LOW]).any():
        raise DataError("bars must keep low ≤ open, close ≤ high", was="a bar that does not")


def _blocks(n_bars: int, block_bars: int) -> list[NDArray[np.int64]]:
    size = require_count(block_bars, "block_bars")
    return np.split(np.arange(n_bars), np.arange(size, n_bars, size))


def _moves_of(bars: FloatArray) -> _Moves:
    opened, high, low, close = (np.log(bars[..., part]) for part in range(4))
    first = np.full((len(close), 1), np.nan)
    before = np.concatenate([first, carry_forward(close)[:, :-1]], axis=1)
    gap = np.where(np.isnan(before), 0.0, opened - before)
    gap = np.where(np.isnan(opened), np.nan, gap)
    return _Moves(gap, high - opened, low - opened, close - opened, bars[..., _VOLUME])


def _first_open(bars: FloatArray) -> FloatArray:
    """Open (N, 1) of each symbol's first bar; NaN for one that has none."""
    first = np.isfinite(bars[..., _OPEN]).argmax(axis=1)
    return np.asarray(bars[np.arange(len(bars)), first, _OPEN][:, None])


def _flipped(moves: _Moves) -> _Moves:
    return _Moves(-moves.gap, -moves.low, -moves.high, -moves.close, moves.volume)


def _bars_of(moves: _Moves, first_open: FloatArray) -> FloatArray:
    step = np.nan_to_num(moves.gap + moves.close)
    before = np.cumsum(step, axis=1) - step
    opened = first_open * np.exp(before + moves.gap)
    close = opened * np.exp(moves.close)
    # Rounding must not leave a close outside its bar.
    high = np.maximum(opened * np.exp(moves.high), np.maximum(opened, close))
    low = np.minimum(opened * np.exp(moves.low), np.minimum(opened, close))
    return np.stack([opened, high, low, close, moves.volume], axis=-1)


def placebo_bars(bars: BarArrays, part: IndexRange, change: Change) -> BarArrays:
    """Change the bars of a part, take the drift out of them, and fit them in where they were.

    What lies before the part stays to the bit; moves after it stay, at another level of prices.
    The vwap keeps its place between low and high.
    """
    rows = slice(part.start, part.stop)
    columns = np.stack([column[rows].T for column in bars[:5]], axis=-1)
    place = np.divide(
        bars.vwap[rows] - bars.low[rows],
        bars.high[rows] - bars.low[rows],
        out=np.full_like(bars.vwap[rows], 0.5),
        where=bars.high[rows] > bars.low[rows],
    )
    # The same change moves places as it moves volumes: both belong to their bar.
    placed = columns.copy()
    placed[..., 4] = np.where(np.isfinite(columns[..., 3]), place.T, np.nan)
    changed, where = change(columns), change(placed)[..., 4].T
    made = BarArrays(*(column.copy() for column in bars))
    for column, values in zip(made[:5], np.moveaxis(changed, -1, 0), strict=True):
        column[rows] = values.T
    made.vwap[rows] = made.low[rows] + where * (made.high[rows] - made.low[rows])
    moves = _joined(moves_from(made, part.start), moves_from(bars, part.start), len(part))
    present = np.isfinite(made.close[part.start :])
    return rebuilt(made, part.start, _without_drift(moves, present, len(part)))


def _joined(moves: Moves, original: Moves, length: int) -> Moves:
    """Take the gaps where a part begins and where it ends from the original."""
    gaps = moves.gap.copy()
    for seam in (0, length):
        if seam < len(gaps):
            gaps[seam] = original.gap[seam]
    return moves._replace(gap=gaps)


def _without_drift(moves: Moves, present: NDArray[np.bool_], length: int) -> Moves:
    """Shift the gaps of a part so that each symbol's mean simple return over it is 0."""
    inside = present[:length]
    growth = np.where(inside, np.exp(moves.total()[:length]), 0.0).sum(axis=0)
    drift = np.log(np.maximum(growth, 1e-300) / np.maximum(inside.sum(axis=0), 1))
    gaps = moves.gap.copy()
    gaps[:length] -= np.where(inside, drift, 0.0)
    return moves._replace(gap=gaps)
