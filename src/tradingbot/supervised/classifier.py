"""What a classifier is: fitted on some bars of a table, it gives probabilities for any bar.

Each kind is a file of its own, named in `catalogue`; folds, calibration and files know only this.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.sources.source import Progress
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError
from tradingbot.supervised.labels import UNKNOWN, LabelArray
from tradingbot.supervised.table import ModelTable

ProbabilityArray = NDArray[np.float32]


@dataclass(frozen=True)
class FitRows:
    """Which bars a model may learn from; labels of both must not reach past `stop`."""

    fit: IndexRange
    """Bars whose labels are fitted."""
    stop: IndexRange
    """Later bars that only say when to stop."""


class Stream(Protocol):
    """Takes the bars of N symbols one at a time, as live trading does."""

    def push(self, rows: NDArray[np.float32]) -> ProbabilityArray:
        """Take the next bar (N, F), unscaled; return probabilities (N, 3)."""


class FittedClassifier(Protocol):
    """A model that was fitted; it does not change any more."""

    def probabilities(self, table: ModelTable, rows: IndexRange | None = None) -> ProbabilityArray:
        """Return probabilities (N, len(rows), 3) of down, flat, up; all bars without `rows`.

        A bar's bits depend on the table up to that bar and on nothing else, not even on how many
        bars follow. What stands at bars that are not valid means nothing.
        """

    def stream(self, n_symbols: int) -> Stream:
        """Begin with series of which nothing was seen yet; the same numbers up to rounding."""

    def write(self, path: Path) -> None:
        """Write the model to a file; the caller makes it atomic."""


class Classifier(Protocol):
    """A kind of model with its settings."""

    @property
    def config(self) -> Any:
        """Frozen dataclass of the settings."""

    @property
    def suffix(self) -> str:
        """End of the name of its files."""

    def fit(
        self, table: ModelTable, labels: LabelArray, rows: FitRows, *, seed: int, progress: Progress
    ) -> FittedClassifier:
        """Learn from the bars of `rows` alone; the same arguments give the same model.

        Args:
            table: What is seen.
            labels: (N, T).
            rows: Bars to learn from.
            seed: Root of its random streams.
            progress: Told (finished, total, label).

        Raises:
            DataError: If there is nothing to learn from.
        """

    def read(self, path: Path, table_names: tuple[str, ...]) -> FittedClassifier:
        """Read a model that `write` wrote.

        Raises:
            StorageError: If the file is not one.
        """


def samples(table: ModelTable, labels: LabelArray, part: IndexRange) -> NDArray[np.int64]:
    """Find the labelled valid bars of a part.

    Returns:
        (K, 2) symbol and bar, in order.

    Raises:
        DataError: If there is none.
    """
    cut = slice(part.start, part.stop)
    found = np.argwhere(table.valid[:, cut] & (labels[:, cut] != UNKNOWN))
    if not len(found):
        raise DataError(
            "bars to learn from must hold a valid, labelled one",
            was="none",
            where=f"bars {part.start} … {part.stop - 1}",
            remedy="Use a longer training part, fewer folds or a shorter horizon",
        )
    found[:, 1] += part.start
    return found


def labelled_rows(
    table: ModelTable, labels: LabelArray, part: IndexRange
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return what is seen (K, F) and the classes (K,) of the labelled valid bars of a part.

    Raises:
        DataError: If there is none.
    """
    symbol, bar = samples(table, labels, part).T
    return table.values[symbol, bar], labels[symbol, bar].astype(np.int64)
