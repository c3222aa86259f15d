"""Combinatorial-purged folds, drawn by skfolio (extra `folds`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.splits import DEFAULT_GAP, Gap, IndexRange
from tradingbot.domain.errors import ConfigError, DataError, MissingExtraError


@dataclass(frozen=True)
class Fold:
    """One train/test division of a grid of `length` rows."""

    length: int
    train: tuple[IndexRange, ...]
    tests: tuple[IndexRange, ...]
    gap: Gap

    def __post_init__(self) -> None:
        """Refuse a fold without rows or with a train row too near a test block (D29)."""
        if not self.train or not self.tests:
            raise DataError("fold must have train and test rows", was="none")
        is_train = np.zeros(self.length, dtype=bool)
        is_train[self.train_indices()] = True
        for test in self.tests:
            before = max(0, test.start - self.gap.purge_bars)
            after = test.stop + self.gap.purge_bars + self.gap.embargo_bars
            if is_train[before : min(after, self.length)].any():
                raise DataError(
                    "train must keep purge and embargo from every test block",
                    was=f"train within {before} … {after} of test {test.start} … {test.stop}",
                )

    def train_indices(self) -> NDArray[np.int64]:
        """Training rows, ascending."""
        return np.concatenate([part.indices() for part in self.train])


@dataclass(frozen=True)
class CombinatorialFolds:
    """All choices of test blocks, and how their tests join to whole histories."""

    folds: tuple[Fold, ...]
    path_ids: NDArray[np.int64]
    """(splits, test blocks) which path each fold's test block belongs to."""

    @property
    def paths(self) -> int:
        """Number of complete out-of-sample histories."""
        return int(self.path_ids.max()) + 1


def combinatorial_purged(
    length: int, *, blocks: int = 10, test_blocks: int = 2, gap: Gap = DEFAULT_GAP
) -> CombinatorialFolds:
    """Cut the grid in blocks and test on every choice of `test_blocks` of them.

    The purge is dropped on both sides of a test block, the embargo after it in addition.

    Args:
        length: T, rows of the grid; the last block takes the remainder.
        blocks: Number of blocks, at least 3.
        test_blocks: How many are tested at a time, at least 2 and fewer than `blocks`.
        gap: Purge and embargo; together shorter than a block.

    Raises:
        ConfigError: If the numbers do not fit.
        MissingExtraError: If skfolio is not installed.

    Source: López de Prado, Advances in Financial Machine Learning (2018), chapter 12.
    """
    try:
        splitter = _model_selection().CombinatorialPurgedCV(
            n_folds=blocks,
            n_test_folds=test_blocks,
            purged_size=gap.purge_bars,
            embargo_size=gap.embargo_bars,
        )
        pairs = list(splitter.split(np.empty((length, 1))))
    except ValueError as e:
        raise ConfigError(
            "blocks must be 3 or more, test_blocks from 2 to blocks − 1, and purge + embargo "
            "shorter than a block",
            was=f"{length} rows, {blocks} blocks, {test_blocks} tested, purge {gap.purge_bars}, "
            f"embargo {gap.embargo_bars}",
        ) from e
    folds = tuple(
        Fold(length, _ranges(train), tuple(_range(test) for test in tests), gap)
        for train, tests in pairs
    )
    return CombinatorialFolds(folds, np.asarray(splitter.get_path_ids(), dtype=np.int64))


def _model_selection() -> Any:
    try:
        from skfolio import model_selection
    except ImportError as e:
        raise MissingExtraError("folds", package="skfolio") from e
    return model_selection


def _ranges(indices: NDArray[np.int64]) -> tuple[IndexRange, ...]:
    """Contiguous stretches of ascending indices."""
    breaks = np.flatnonzero(np.diff(indices) != 1) + 1
    return tuple(_range(stretch) for stretch in np.split(indices, breaks) if len(stretch))


def _range(indices: NDArray[np.int64]) -> IndexRange:
    return IndexRange(int(indices[0]), int(indices[-1]) + 1)
