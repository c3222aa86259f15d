"""Whole out-of-sample histories from combinatorial purged folds, and how their results vary.

The folds come from `data.folds.combinatorial_purged`; training on them is the caller's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tradingbot.data.folds import CombinatorialFolds
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.statistics.inputs import FloatArray
from tradingbot.evaluation.statistics.sharpe import sharpe_ratio


@dataclass(frozen=True)
class PathSharpes:
    """Sharpe ratios of all paths; paths share data, so that they are not independent samples."""

    sharpes: tuple[float, ...]
    """Per bar, one a path; NaN where a path never moves."""
    median: float
    spread: float
    """Standard deviation over paths."""
    low: float
    """5 % quantile."""
    high: float
    """95 % quantile."""
    negative_frac: float
    """Share of paths that lose or do not move."""


def path_returns(folds: CombinatorialFolds, fold_returns: ArrayLike) -> FloatArray:
    """Join the folds' tests to whole histories.

    Args:
        folds: All splits, and the path that each test block belongs to.
        fold_returns: (splits, T) returns per bar of the policy trained on that split; only rows of
            its test blocks are read, so that the others may be NaN.

    Returns:
        (paths, T).

    Raises:
        DataError: If the shape does not fit, or a return within a test block is not finite.
    """
    returns = np.asarray(fold_returns, dtype=np.float64)
    shape = (len(folds.folds), folds.folds[0].length)
    if returns.shape != shape:
        raise DataError("fold_returns must be (splits, bars)", was=f"{returns.shape}, not {shape}")
    joined = np.full((folds.paths, shape[1]), np.nan)
    for split, (fold, path_ids) in enumerate(zip(folds.folds, folds.path_ids, strict=True)):
        for test, path in zip(fold.tests, path_ids, strict=True):
            joined[path, test.start : test.stop] = returns[split, test.start : test.stop]
    if not np.isfinite(joined).all():
        path, bar = (int(index) for index in np.argwhere(~np.isfinite(joined))[0])
        rule = "every bar of every path must have a finite return"
        raise DataError(rule, was=joined[path, bar], where=f"path {path}, bar {bar}")
    return joined


def path_sharpes(folds: CombinatorialFolds, fold_returns: ArrayLike) -> PathSharpes:
    """Say how the Sharpe ratio per bar varies over the paths; arguments as for `path_returns`."""
    sharpes = np.array([sharpe_ratio(path) for path in path_returns(folds, fold_returns)])
    known = sharpes[np.isfinite(sharpes)]
    low, median, high = np.quantile(known, [0.05, 0.5, 0.95]) if len(known) else (math.nan,) * 3
    return PathSharpes(
        sharpes=tuple(float(sharpe) for sharpe in sharpes),
        median=float(median),
        spread=float(known.std(ddof=1)) if len(known) > 1 else math.nan,
        low=float(low),
        high=float(high),
        negative_frac=float((~(sharpes > 0.0)).mean()),
    )
