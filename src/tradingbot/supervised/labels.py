"""What a classifier is asked: where the price goes next, in units of its own volatility.

A label looks ahead by construction; it exists for training and scoring only. The label of bar t
depends on bars up to t + `horizon_bars` and on no later one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.splits import IndexRange
from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.domain.errors import DataError

FloatArray = NDArray[np.float64]
LabelArray = NDArray[np.int8]

CLASSES = ("down", "flat", "up")
"""In the order of every last axis of probabilities."""
DOWN, FLAT, UP = 0, 1, 2
UNKNOWN = -1
"""No label: a bar is missing, volatility is not defined yet, or the horizon lies past the end."""
LabelKind = Literal["horizon", "barriers"]


@dataclass(frozen=True)
class LabelConfig(CheckedFields):
    """Which move counts as up, flat or down."""

    kind: LabelKind = "horizon"
    """`horizon`: the return over the horizon decides. `barriers`: the first of two barriers that a
    close passes within the horizon decides; flat where none is passed."""
    horizon_bars: int = bounded(7, "[1, 10000]")
    """How many bars ahead; seven hourly bars are a trading day."""
    barrier_vols: float = bounded(0.43, "[0, 100]")
    """Distance of the barriers, as a multiple of volatility per bar × √horizon; 0.43 makes three
    classes of equal frequency where returns are normal."""
    volatility_bars: int = bounded(24, "[2, 10000]")
    """Past returns that volatility (root mean square) is measured over."""


def label_moves(closes: FloatArray, config: LabelConfig) -> LabelArray:
    """Label every bar.

    Args:
        closes: (N, T) closes on one grid, NaN where there is no bar.
        config: What counts as a move.

    Returns:
        (N, T) DOWN, FLAT, UP, or UNKNOWN. The last `horizon_bars` columns are UNKNOWN.

    Raises:
        DataError: If the closes are not one table.

    Source: López de Prado, Advances in Financial Machine Learning (2018), chapter 3.
    """
    if closes.ndim != 2:
        raise DataError("closes must have shape (N, T)", was=closes.shape)
    labels = np.full(closes.shape, UNKNOWN, dtype=np.int8)
    horizon = config.horizon_bars
    known = closes.shape[1] - horizon
    if known <= 0:
        return labels
    with np.errstate(all="ignore"):
        logs = np.log(np.where(closes > 0.0, closes, np.nan))
        barrier = config.barrier_vols * np.sqrt(horizon) * past_volatility(logs, config)
        start, barrier = logs[:, :known], barrier[:, :known]
        if config.kind == "horizon":
            move = logs[:, horizon:] - start
        else:
            move = _first_passage(logs, barrier, horizon)
    label = np.where(move > barrier, UP, np.where(move < -barrier, DOWN, FLAT))
    defined = np.isfinite(move) & np.isfinite(barrier)
    labels[:, :known] = np.where(defined, label, UNKNOWN)
    return labels


def past_volatility(logs: FloatArray, config: LabelConfig) -> FloatArray:
    """Root mean square of the last log returns, (N, T); nothing after the bar is read.

    NaN until half of `volatility_bars` returns are there.
    """
    window = config.volatility_bars
    squares = np.square(np.diff(logs, axis=1, prepend=np.nan))
    padded = np.concatenate([np.full((len(logs), window - 1), np.nan), squares], axis=1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, window, axis=1)
    count = np.isfinite(windows).sum(axis=-1)
    total = np.where(np.isfinite(windows), windows, 0.0).sum(axis=-1)
    enough = count >= max(2, window // 2)
    return np.sqrt(np.where(enough, total / np.maximum(count, 1), np.nan))


def purge_labels(part: IndexRange, config: LabelConfig) -> IndexRange:
    """Leave out the bars at the end of a part whose labels would reach past it."""
    return IndexRange(part.start, max(part.start, part.stop - config.horizon_bars))


def _first_passage(logs: FloatArray, barrier: FloatArray, horizon: int) -> FloatArray:
    """Move (N, K) at the first close beyond a barrier, else at the horizon; skips absent bars."""
    known = barrier.shape[1]
    start = logs[:, :known]
    move = logs[:, horizon : horizon + known] - start
    # Backwards, so that the earliest passage is written last.
    for ahead in range(horizon, 0, -1):
        reached = logs[:, ahead : ahead + known] - start
        move = np.where(np.abs(reached) > barrier, reached, move)
    return move
