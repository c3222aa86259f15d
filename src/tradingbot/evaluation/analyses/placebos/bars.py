"""Placebo bars: what a pipeline gets when there must be nothing, or nothing of one kind, to find.

Bars are (N, T, 5) open, high, low, close, volume, NaN where there is none. Each function returns
new bars that are positive and keep low ≤ open, close ≤ high; features must be computed from them
anew, since features of the true bars would smuggle the truth back in. All symbols are treated
alike in time, so that what moves together keeps moving together.

- `shuffle_bars` destroys the order in time: trends, reversion, clusters of volatility longer than a
  block. It keeps every bar's shape and volume, the multiset of returns, the cross-section and the
  total return, so that holding earns what it did.
- `flip_bars_at_random` destroys drift, and the sign of what follows what. It keeps the size and
  order of moves, volume, and how symbols move together.
- `flip_bars` changes the sign of drift and of every move. It keeps size, order and autocorrelation
  of log returns: trends stay trends, so that it tests a bias to one side.
- `reverse_bars` destroys which came first. It keeps the size of moves, clusters of volatility and
  symmetric autocorrelation, and changes the sign of drift.

A bar that is absent moves like the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.statistics.inputs import FloatArray, require_count

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
    """Draw the bars of all symbols in another order, in blocks of whole bars.

    With blocks of one trading day the time of day is kept, overnight gaps included. Each bar keeps
    its return since the last close; the first one drawn has it since the true first open.

    Args:
        bars: (N, T, 5).
        block_bars: Length of a block; the last one may be shorter.
        seed: Root of the stream that draws the order.

    Raises:
        DataError: If bars are not (N, T, 5), not positive, or break low ≤ open, close ≤ high.
    """
    _require_bars(bars)
    blocks = _blocks(bars.shape[1], block_bars)
    order = stream(seed, "placebo", "shuffle").permutation(len(blocks))
    drawn = np.concatenate([blocks[index] for index in order])
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
    before = _last_close(close)
    gap = np.where(np.isnan(before), 0.0, opened - before)
    gap = np.where(np.isnan(opened), np.nan, gap)
    return _Moves(gap, high - opened, low - opened, close - opened, bars[..., _VOLUME])


def _last_close(close: FloatArray) -> FloatArray:
    """Log close (N, T) of the last bar there was before each bar; NaN before the first."""
    place = np.where(np.isnan(close), -1, np.arange(close.shape[1]))
    latest = np.maximum.accumulate(place, axis=1)
    latest = np.concatenate([np.full((len(close), 1), -1), latest[:, :-1]], axis=1)
    known = np.take_along_axis(close, np.maximum(latest, 0), axis=1)
    return np.where(latest < 0, np.nan, known)


def _first_open(bars: FloatArray) -> FloatArray:
    """Open (N, 1) of each symbol's first bar; NaN for one that has none."""
    first = np.isfinite(bars[..., _OPEN]).argmax(axis=1)
    opened: FloatArray = bars[np.arange(len(bars)), first, _OPEN][:, None]
    return opened


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
