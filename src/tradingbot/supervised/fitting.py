"""Fits a model of all stages: folds that look back, then the whole training part.

Each block of the training part is judged by models of its past. Ordinary out-of-fold probabilities
of an early block come from models fitted on later ones; they are out of sample and still know the
future. Expanding folds lose the first block and nothing else.

Each stage is calibrated on the blocks before it, which its classifiers had not seen when they were
asked; the first stage, which has none, on the bars that said when to stop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.folds import Fold
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.splits import Gap, IndexRange
from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.supervised.calibration import Calibration, fit_calibration
from tradingbot.supervised.classifier import Classifier, FitRows, FittedClassifier, ProbabilityArray
from tradingbot.supervised.labels import UNKNOWN, LabelArray, LabelConfig, label_moves, purge_labels
from tradingbot.supervised.probability_model import ModelStage, ProbabilityModel
from tradingbot.supervised.scores import Scores, base_rates, score
from tradingbot.supervised.table import ModelTable


@dataclass(frozen=True)
class FoldConfig(CheckedFields):
    """How the training part is cut."""

    n_blocks: int = bounded(6, "[2, 1000]")
    """Equal blocks of the training part; the first has no past and gets thirds."""
    embargo_bars: int = bounded(7, ">= 0")
    """Bars left free before a block, on top of the labels' horizon."""
    stop_frac: float = bounded(0.2, "(0, 1)")
    """Later share of what a model learns from that only says when to stop."""


def forward_folds(train: IndexRange, config: FoldConfig, labels: LabelConfig) -> tuple[Fold, ...]:
    """Cut a training part into expanding folds.

    Fold k learns from everything before block k but for purge (the labels' horizon) and embargo,
    and is asked about block k.

    Args:
        train: The training part.
        config: Blocks and embargo.
        labels: Their horizon is the purge.

    Raises:
        ConfigError: If the blocks are not longer than purge and embargo.
    """
    apart = labels.horizon_bars + config.embargo_bars
    size = len(train) // config.n_blocks
    if size <= 2 * apart + 2:
        raise ConfigError(
            "blocks must be longer than twice purge and embargo",
            was=f"{size} bars",
            where=f"{len(train)} training bars, {config.n_blocks} blocks, {apart} bars apart",
            remedy="Use fewer blocks, a shorter horizon or more data",
        )
    starts = [train.start + size * block for block in range(config.n_blocks)]
    ends = [*starts[1:], train.stop]
    gap = Gap(apart, 0, labels.horizon_bars)
    return tuple(
        Fold(train.stop, (IndexRange(train.start, start - apart),), (IndexRange(start, end),), gap)
        for start, end in zip(starts[1:], ends[1:], strict=True)
    )


def rows_to_learn(part: IndexRange, config: FoldConfig, labels: LabelConfig) -> FitRows:
    """Divide what a model may learn from: earlier bars to fit, later ones to stop by.

    Labels of neither reach past the end of the part, and labels of the earlier bars do not reach
    into the later ones.
    """
    middle = part.stop - max(labels.horizon_bars + 1, round(config.stop_frac * len(part)))
    middle = max(part.start, middle)
    return FitRows(
        fit=purge_labels(IndexRange(part.start, middle), labels),
        stop=purge_labels(IndexRange(middle, part.stop), labels),
    )


@dataclass(frozen=True)
class FitConfig:
    """Everything about fitting that is not the classifier's own."""

    labels: LabelConfig = field(default_factory=LabelConfig)
    folds: FoldConfig = field(default_factory=FoldConfig)
    seed: int = 0
    """Root of every random stream."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model, and how good its probabilities of the training part are, out of fold."""

    model: ProbabilityModel
    rates: NDArray[np.float64]
    """(3,) base rates of the training part's labels."""
    out_of_fold: Scores | None
    """Calibrated; None where the table ends before the second block's labels."""
    out_of_fold_raw: Scores | None
    """Before calibration."""


def fit_model(
    classifier: Classifier,
    table: ModelTable,
    train: IndexRange,
    config: FitConfig,
    *,
    progress: Progress = ignore_progress,
) -> FittedModel:
    """Fit every stage that the table reaches.

    A table that ends within the training part gets the stages that speak for its bars, fitted as
    they would be in a longer one. A stage with nothing to learn from is left out, and the one
    before it goes on speaking.

    Args:
        classifier: The kind of model.
        table: What is seen, and the closes that labels are made of.
        train: The training part; no bar from its end on is fitted or calibrated on.
        config: Labels, folds and seed.
        progress: Told (finished, total, label) in stages and their steps.

    Raises:
        ConfigError: If the training part is too short for the folds.
        DataError: If no stage has anything to learn from.
    """
    labels = label_moves(table.closes, config.labels)
    plans = _plans(train, config)
    fitted = _Fitting(classifier, table, labels, config, [])
    stages = []
    for number, (learn, start, stop) in enumerate(plans):
        if start >= table.n_bars:
            break
        block = IndexRange(start, min(stop, table.n_bars))
        stage = fitted.stage(learn, block, partial(_tell_stage, progress, number, len(plans)))
        if stage is not None:
            stages.append(stage)
    if not stages:
        raise DataError(
            "training bars must hold valid, labelled ones",
            was="none",
            where=f"bars {train.start} … {train.stop - 1}",
            remedy="Use a longer training part, fewer blocks or a shorter horizon",
        )
    model = ProbabilityModel(tuple(stages), table.names)
    rates = base_rates(_within(labels, table, purge_labels(train, config.labels)))
    calibrated, raw = fitted.scores(model, train)
    return FittedModel(model, rates, calibrated, raw)


def refit_stages(
    model: ProbabilityModel,
    classifier: Classifier,
    table: ModelTable,
    train: IndexRange,
    config: FitConfig,
    *,
    progress: Progress = ignore_progress,
) -> Iterator[tuple[ModelStage, ModelStage | None]]:
    """Fit every stage of a model again, on a table that ends where the stage begins to speak.

    Bars that are not there cannot be learned from, whatever the fit was told: a stage that had seen
    the bars that it is asked about, or later ones, comes out differently.

    Yields:
        Each stage of the model and the one that was fitted instead; None where none begins there,
        or nothing can be learned without the later bars.
    """
    plans = {start: (learn, stop) for learn, start, stop in _plans(train, config)}
    proved: list[tuple[IndexRange, FittedClassifier]] = []
    for number, stage in enumerate(model.stages):
        start = stage.from_bar
        if start not in plans:
            yield stage, None
            continue
        past = table.until(start)
        asked = [(block, made.probabilities(past, block)) for block, made in proved]
        fitting = _Fitting(classifier, past, label_moves(past.closes, config.labels), config, asked)
        learn, stop = plans[start]
        tell = partial(_tell_stage, progress, number, len(model.stages))
        try:
            made = fitting.stage(learn, IndexRange(start, start), tell)
        except (DataError, IndexError):  # it needs bars that are not there
            made = None
        yield stage, made
        if made is not None and stop <= table.n_bars:
            proved.append((IndexRange(start, stop), made.model))


def _plans(train: IndexRange, config: FitConfig) -> list[tuple[IndexRange, int, int]]:
    """What each stage learns from, the first bar it is asked about, and the bar after the last."""
    folds = forward_folds(train, config.folds, config.labels)
    plans = [(fold.train[0], fold.tests[0].start, fold.tests[0].stop) for fold in folds]
    return [*plans, (train, train.stop, 2**62)]


@dataclass(eq=False)
class _Fitting:
    """What the stages have in common, and the blocks that were asked about so far."""

    classifier: Classifier
    table: ModelTable
    labels: LabelArray
    config: FitConfig
    asked: list[tuple[IndexRange, ProbabilityArray]]

    def stage(self, learn: IndexRange, block: IndexRange, progress: Progress) -> ModelStage | None:
        """Fit the stage of a block on a table that ends with what it learns from.

        What it has seen is what it was given: neither features nor labels hold a later bar.

        Returns:
            The stage; None where there is nothing to learn from.
        """
        given = self.table.until(learn.stop)
        labels = label_moves(given.closes, self.config.labels)
        past = _Fitting(self.classifier, given, labels, self.config, self.asked)
        rows = rows_to_learn(learn, self.config.folds, self.config.labels)
        learned = (_within(labels, given, part) for part in (rows.fit, rows.stop))
        if not all((each != UNKNOWN).any() for each in learned):
            return None
        seed = self.config.seed
        model = self.classifier.fit(given, labels, rows, seed=seed, progress=progress)
        calibration = past._calibrate(model, learn, rows)
        if block.stop <= self.table.n_bars and len(block):
            self.asked.append((block, model.probabilities(self.table, block)))
        return ModelStage(block.start, given.n_bars, model, calibration)

    def _calibrate(self, model: FittedClassifier, learn: IndexRange, rows: FitRows) -> Calibration:
        """Fit on the earlier blocks as far as their labels end within `learn`."""
        usable = purge_labels(learn, self.config.labels)
        blocks = [
            (IndexRange(block.start, min(block.stop, usable.stop)), chances)
            for block, chances in self.asked
            if block.start < usable.stop
        ] or [(rows.stop, model.probabilities(self.table, rows.stop))]
        chances = np.concatenate([each[:, : len(block)] for block, each in blocks], axis=1)
        return fit_calibration(
            chances,
            self._answers([block for block, _ in blocks]),
            overlap=self.config.labels.horizon_bars * len(self.table.symbols),
        )

    def _answers(self, blocks: Sequence[IndexRange]) -> LabelArray:
        parts = [_within(self.labels, self.table, block) for block in blocks]
        return np.concatenate(parts, axis=1)

    def scores(
        self, model: ProbabilityModel, train: IndexRange
    ) -> tuple[Scores | None, Scores | None]:
        """Score the blocks of the training part, calibrated and not.

        A block's base rates are those of the labels its stage learned from.
        """
        limit = min(purge_labels(train, self.config.labels).stop, self.table.n_bars)
        kept, rates, calibrated = [], [], []
        for stage, (block, chances) in zip(model.stages, self.asked, strict=False):
            part = IndexRange(block.start, max(block.start, min(block.stop, limit)))
            if not len(part):
                continue
            past = _within(self.labels, self.table, IndexRange(train.start, stage.seen_until))
            kept.append((part, chances[:, : len(part)]))
            shape = (len(self.table.symbols), len(part), 3)
            rates.append(np.broadcast_to(base_rates(past), shape))
            calibrated.append(stage.calibration.apply(chances[:, : len(part)]))
        if not kept:
            return None, None
        answers = self._answers([part for part, _ in kept])
        if not (answers != UNKNOWN).any():
            return None, None
        before = np.concatenate(rates, axis=1)
        raw = np.concatenate([each for _, each in kept], axis=1).astype(np.float64)
        return (
            score(np.concatenate(calibrated, axis=1), answers, before),
            score(raw, answers, before),
        )


def _within(labels: LabelArray, table: ModelTable, part: IndexRange) -> LabelArray:
    cut = slice(part.start, part.stop)
    return np.where(table.valid[:, cut], labels[:, cut], UNKNOWN).astype(np.int8)


def _tell_stage(
    progress: Progress, number: int, total: int, finished: int, steps: int, label: str
) -> None:
    told = f"model {number + 1} of {total}, {label}"
    progress(number * steps + finished, total * steps, told)
