"""Probability of backtest overfitting by combinatorially symmetric cross-validation (CSCV)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.statistics import inputs
from tradingbot.evaluation.statistics.inputs import FloatArray, IntArray, chunk_sizes, moves

MAX_BLOCKS = 20
"""C(20, 10) = 184,756 splits; more say no more."""
_MIN_BLOCK_BARS = 2
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Overfitting:
    """How the best trial of one half fares in the other, over all ways to halve the blocks."""

    pbo: float
    """Share of splits whose winner is in the lower half outside; in [0, 1]. About ½ for noise; one
    figure from noise varies by about 0.2. High but harmless where all trials are equally good."""
    loss_probability: float
    """Share of splits whose winner has a Sharpe ratio below 0 outside."""
    slope: float
    """Of the winner's ratio outside on inside; NaN where all winners are alike."""
    n_splits: int
    n_trials: int
    n_bars: int
    """Used; the first T mod S are dropped."""
    logits: FloatArray
    """(splits,) ln(ω ÷ (1 − ω)), ω the winner's relative rank outside."""
    inside: FloatArray
    """(splits,) the winner's Sharpe ratio per bar where it was chosen."""
    outside: FloatArray
    """(splits,) its Sharpe ratio per bar in the other half."""


def backtest_overfitting(returns: ArrayLike, *, n_blocks: int = 16) -> Overfitting:
    """Choose the best trial in each half of the blocks, and rank it in the other half.

    A trial that does not move within a half has a Sharpe ratio of 0 there. Of equal winners the
    first is taken; equal ranks are averaged.

    Args:
        returns: (T, N) simple returns per bar of N trials on the same bars; two trials or more.
        n_blocks: S, even; 12,870 splits for 16.

    Raises:
        ConfigError: If S is odd or out of range.
        DataError: If a column is NaN or a constant other than 0, there is one column only, or a
            block would have fewer than two bars.

    Source: Bailey, Borwein, López de Prado & Zhu, The Probability of Backtest Overfitting (2016).
    """
    if n_blocks % 2 or not 2 <= n_blocks <= MAX_BLOCKS:
        raise ConfigError(f"n_blocks must be even, from 2 to {MAX_BLOCKS}", was=n_blocks)
    matrix = _trials(returns, n_blocks)
    chosen = _halves(n_blocks)
    blocks = _BlockSums(matrix, n_blocks)
    ends = np.cumsum(chunk_sizes(len(chosen), matrix.shape[1]))
    parts = [_winners(blocks, part) for part in np.split(chosen, ends[:-1])]
    ranks, inside, outside = (np.concatenate(column) for column in zip(*parts, strict=True))
    share = ranks / (matrix.shape[1] + 1.0)
    logits = np.log(share / (1.0 - share))
    return Overfitting(
        pbo=float((2.0 * ranks <= matrix.shape[1] + 1.0).mean()),
        loss_probability=float((outside < 0.0).mean()),
        slope=_slope(inside, outside),
        n_splits=len(chosen),
        n_trials=matrix.shape[1],
        n_bars=len(matrix),
        logits=logits,
        inside=inside,
        outside=outside,
    )


class _BlockSums:
    """Sums per block, from which the Sharpe ratio of any union of blocks follows."""

    def __init__(self, matrix: FloatArray, n_blocks: int) -> None:
        self.mean = matrix.mean(axis=0)
        scores = matrix - self.mean
        self.scale = np.maximum(np.abs(scores).max(axis=0), np.finfo(np.float64).tiny)
        scores = (scores / self.scale).reshape(n_blocks, -1, matrix.shape[1])
        self.n_bars = scores.shape[1] * n_blocks // 2
        self.sums, self.squares = scores.sum(axis=1), (scores**2).sum(axis=1)

    def ratios(self, chosen: FloatArray) -> FloatArray:
        """Return the Sharpe ratios (splits, N) of chosen blocks (splits, S)."""
        sums, squares = chosen @ self.sums, chosen @ self.squares
        variance = (squares - sums**2 / self.n_bars) / (self.n_bars - 1)
        means = sums / self.n_bars + self.mean / self.scale
        still = variance <= _ROUNDING * np.maximum(squares / self.n_bars, _ROUNDING)
        ratios: FloatArray = np.where(still, 0.0, means / np.sqrt(np.where(still, 1.0, variance)))
        return ratios


def _trials(returns: ArrayLike, n_blocks: int) -> FloatArray:
    matrix = inputs.finite_matrix(returns, "returns", at_least=n_blocks * _MIN_BLOCK_BARS)
    if matrix.shape[1] < 2:
        raise DataError("returns must have two trials or more", was=matrix.shape[1])
    stuck = np.flatnonzero(~moves(matrix) & (matrix[0] != 0.0))
    if len(stuck):
        rule = "a trial must move or stay at 0"
        where = f"column {stuck[0]}"
        raise DataError(rule, was=f"a constant {matrix[0, stuck[0]]:.6g}", where=where)
    return matrix[len(matrix) % n_blocks :]


def _halves(n_blocks: int) -> NDArray[np.float64]:
    """Every choice of half the blocks, as rows of 0 and 1."""
    picks = np.array(list(itertools.combinations(range(n_blocks), n_blocks // 2)))
    chosen = np.zeros((len(picks), n_blocks))
    np.put_along_axis(chosen, picks, 1.0, axis=1)
    return chosen


def _winners(blocks: _BlockSums, chosen: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rank outside (1 is worst), ratio inside and ratio outside of each split's winner."""
    inside, outside = blocks.ratios(chosen), blocks.ratios(1.0 - chosen)
    winner: IntArray = inside.argmax(axis=1)[:, None]
    won = np.take_along_axis(outside, winner, axis=1)
    ranks = (outside < won).sum(axis=1) + ((outside == won).sum(axis=1) + 1) / 2.0
    return ranks, np.take_along_axis(inside, winner, axis=1)[:, 0], won[:, 0]


def _slope(inside: FloatArray, outside: FloatArray) -> float:
    scores = inside - inside.mean()
    square = float(scores @ scores)
    return float(scores @ outside) / square if square > 0.0 else math.nan
