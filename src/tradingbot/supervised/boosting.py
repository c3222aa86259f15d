"""Gradient-boosted trees by LightGBM (extra `supervised`): the row of a bar, no window.

Features remember their own past, so a row holds what a tree can use.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.sources.source import Progress
from tradingbot.data.splits import IndexRange
from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.domain.errors import MissingExtraError, StorageError
from tradingbot.domain.seeding import stream
from tradingbot.supervised.classifier import FitRows, ProbabilityArray, labelled_rows
from tradingbot.supervised.labels import CLASSES, LabelArray
from tradingbot.supervised.table import ModelTable


@dataclass(frozen=True)
class BoostingConfig(CheckedFields):
    """Size of the trees and how many are grown."""

    n_leaves: int = bounded(15, "[2, 4096]")
    """Leaves of a tree."""
    min_leaf_bars: int = bounded(200, ">= 1")
    """Bars in a leaf, at least."""
    learning_rate: float = bounded(0.05, "(0, 1]")
    """Share of a tree that is added."""
    max_rounds: int = bounded(300, ">= 1")
    """Rounds of three trees, at most."""
    patience: int = bounded(20, ">= 1")
    """Rounds without a better log loss on later bars after which growing stops."""
    feature_frac: float = bounded(0.8, "(0, 1]")
    """Share of the features a tree may use."""
    ridge: float = bounded(1.0, "[0, inf)")
    """Penalty on squared leaf values."""
    max_bins: int = bounded(63, "[2, 255]")
    """Values a feature is rounded to."""
    threads: int = bounded(1, ">= 1")
    """Processor threads; results do not depend on them."""


@dataclass(frozen=True)
class BoostingClassifier:
    """Grows trees until later bars are no longer predicted better."""

    config: BoostingConfig = BoostingConfig()
    suffix: str = ".txt"

    def fit(
        self, table: ModelTable, labels: LabelArray, rows: FitRows, *, seed: int, progress: Progress
    ) -> FittedTrees:
        """See `Classifier.fit`."""
        lightgbm = _lightgbm()
        config = self.config
        seen, answers = labelled_rows(table, labels, rows.fit)
        later, later_answers = labelled_rows(table, labels, rows.stop)
        options = {"max_bin": config.max_bins, "verbosity": -1, "num_threads": config.threads}
        names = [f"f{index}" for index in range(len(table.names))]
        training = lightgbm.Dataset(seen, answers, feature_name=names, params=options)
        stopping = lightgbm.Dataset(later, later_answers, reference=training, params=options)

        def report(environment: Any) -> None:
            progress(environment.iteration + 1, config.max_rounds, "trees")

        booster = lightgbm.train(
            _parameters(config, seed),
            training,
            num_boost_round=config.max_rounds,
            valid_sets=[stopping],
            callbacks=[lightgbm.early_stopping(config.patience, verbose=False), report],
        )
        text = booster.model_to_string(num_iteration=booster.best_iteration)
        return FittedTrees(config, text, table.names)

    def read(self, path: Path, table_names: tuple[str, ...]) -> FittedTrees:
        """See `Classifier.read`."""
        text = path.read_text(encoding="utf-8")
        if not text.startswith("tree\n") or f"max_feature_idx={len(table_names) - 1}\n" not in text:
            raise StorageError(
                "file must hold LightGBM trees of these features",
                was="another text",
                where=str(path),
                remedy="Train the model again: tradingbot supervised train",
            )
        return FittedTrees(self.config, text, table_names)


class FittedTrees:
    """Trees in LightGBM's own text form."""

    def __init__(self, config: BoostingConfig, text: str, names: tuple[str, ...]) -> None:
        """Parse the text."""
        self.config, self.text, self.names = config, text, names
        self._booster = _lightgbm().Booster(model_str=text)

    def probabilities(self, table: ModelTable, rows: IndexRange | None = None) -> ProbabilityArray:
        """See `FittedClassifier.probabilities`; each row is a path through the trees by itself."""
        part = rows or IndexRange(0, table.n_bars)
        cut = slice(part.start, part.stop)
        chances = np.full((len(table.symbols), len(part), len(CLASSES)), 1.0 / 3.0, np.float32)
        valid = table.valid[:, cut]
        if valid.any():
            chances[valid] = self._ask(table.values[:, cut][valid])
        return chances

    def stream(self, n_symbols: int) -> FittedTrees:
        """Return itself: there is nothing to remember."""
        return self

    def push(self, rows: NDArray[np.float32]) -> ProbabilityArray:
        """Take a bar (N, F); return probabilities (N, 3)."""
        return self._ask(rows)

    def write(self, path: Path) -> None:
        """Write the trees as text."""
        path.write_text(self.text, encoding="utf-8")

    def _ask(self, rows: NDArray[np.float32]) -> ProbabilityArray:
        chances = self._booster.predict(rows, num_threads=self.config.threads)
        return np.asarray(chances, dtype=np.float32)


def _parameters(config: BoostingConfig, seed: int) -> dict[str, Any]:
    return {
        "objective": "multiclass",
        "num_class": len(CLASSES),
        "metric": "multi_logloss",
        "num_leaves": config.n_leaves,
        "min_data_in_leaf": config.min_leaf_bars,
        "learning_rate": config.learning_rate,
        "feature_fraction": config.feature_frac,
        "lambda_l2": config.ridge,
        "max_bin": config.max_bins,
        "num_threads": config.threads,
        "seed": int(stream(seed, "supervised", "lightgbm").integers(2**31 - 1)),
        "deterministic": True,
        "force_row_wise": True,
        "verbosity": -1,
    }


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError as e:
        raise MissingExtraError("supervised", package="lightgbm") from e
    return lightgbm
