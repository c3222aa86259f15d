"""Gradient-boosted trees by LightGBM (extra `supervised`): the row of a bar, no window.

Features remember their own past, so a row holds what a tree can use.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.splits import IndexRange
from tradingbot.domain.checks import require, require_kinds
from tradingbot.domain.errors import MissingExtraError, StorageError
from tradingbot.domain.seeding import stream
from tradingbot.supervised.classifier import FitRows, ProbabilityArray, Progress, samples
from tradingbot.supervised.labels import CLASSES, LabelArray
from tradingbot.supervised.table import ModelTable


@dataclass(frozen=True)
class BoostingConfig:
    """Size of the trees and how many are grown."""

    n_leaves: int = 15
    """Leaves of a tree."""
    min_leaf_bars: int = 200
    """Bars in a leaf, at least."""
    learning_rate: float = 0.05
    """Share of a tree that is added."""
    max_rounds: int = 300
    """Rounds of three trees, at most."""
    patience: int = 20
    """Rounds without a better log loss on later bars after which growing stops."""
    feature_frac: float = 0.8
    """Share of the features a tree may use."""
    ridge: float = 1.0
    """Penalty on squared leaf values."""
    max_bins: int = 63
    """Values a feature is rounded to."""
    threads: int = 1
    """Processor threads; results do not depend on them."""

    def __post_init__(self) -> None:
        """Refuse settings that cannot be."""
        require_kinds(self)
        for name in ("min_leaf_bars", "max_rounds", "patience", "threads"):
            require(getattr(self, name) >= 1, f"{name} must be 1 or more", self)
        require(2 <= self.n_leaves <= 4_096, "n_leaves must be in [2, 4096]", self)
        require(2 <= self.max_bins <= 255, "max_bins must be in [2, 255]", self)
        require(0.0 < self.learning_rate <= 1.0, "learning_rate must be in (0, 1]", self)
        require(0.0 < self.feature_frac <= 1.0, "feature_frac must be in (0, 1]", self)
        require(self.ridge >= 0.0, "ridge must not be negative", self)


@dataclass(frozen=True)
class BoostingClassifier:
    """Grows trees until later bars are no longer predicted better."""

    config: BoostingConfig = BoostingConfig()
    suffix: str = ".txt"

    def fit(
        self,
        table: ModelTable,
        labels: LabelArray,
        rows: FitRows,
        *,
        seed: int,
        progress: Progress | None = None,
    ) -> FittedTrees:
        """See `Classifier.fit`."""
        lightgbm = _lightgbm()
        config = self.config
        seen, answers = _rows(table, labels, rows.fit)
        later, later_answers = _rows(table, labels, rows.stop)
        options = {"max_bin": config.max_bins, "verbosity": -1, "num_threads": config.threads}
        names = [f"f{index}" for index in range(len(table.names))]
        training = lightgbm.Dataset(seen, answers, feature_name=names, params=options)
        stopping = lightgbm.Dataset(later, later_answers, reference=training, params=options)
        callbacks = [lightgbm.early_stopping(config.patience, verbose=False)]
        if progress is not None:
            callbacks.append(_reporter(progress, config.max_rounds))
        booster = lightgbm.train(
            _parameters(config, seed),
            training,
            num_boost_round=config.max_rounds,
            valid_sets=[stopping],
            callbacks=callbacks,
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


def _rows(
    table: ModelTable, labels: LabelArray, part: IndexRange
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    places = samples(table, labels, part)
    symbol, bar = places[:, 0], places[:, 1]
    return table.values[symbol, bar], labels[symbol, bar].astype(np.int64)


def _reporter(progress: Progress, total: int) -> Any:
    def report(environment: Any) -> None:
        progress(environment.iteration + 1, total, "trees")

    return report


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError as e:
        raise MissingExtraError("supervised", package="lightgbm") from e
    return lightgbm
