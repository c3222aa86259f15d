"""Probabilities of a whole history, each from a model that had seen only what came before.

A model of this kind is a row of stages. Each stage speaks from a bar on, and had seen nothing from
that bar on; before the first stage nothing is known, and every class has a third.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError
from tradingbot.supervised.calibration import Calibration
from tradingbot.supervised.classifier import FittedClassifier, ProbabilityArray, Stream
from tradingbot.supervised.labels import CLASSES
from tradingbot.supervised.table import ModelTable

END_BARS = 8
"""Last bars of a shorter table that are asked about; a leak of a longer reach meets more ends."""
_THIRD = np.float32(1.0 / len(CLASSES))


@dataclass(frozen=True, eq=False)
class ModelStage:
    """A fitted classifier with its calibration, and the bars it speaks for."""

    from_bar: int
    """First bar it is asked about."""
    seen_until: int
    """Bars of the table that it was fitted on: no bar from here on had any part in it, neither in
    features nor in labels."""
    model: FittedClassifier
    calibration: Calibration

    def __post_init__(self) -> None:
        """Refuse a stage that is asked about bars it has seen."""
        if self.seen_until > self.from_bar:
            raise DataError(
                "a stage must not be asked about bars it has seen",
                was=f"seen until {self.seen_until}, asked from {self.from_bar}",
                remedy="Fit it on earlier bars, with purge and embargo",
            )


@dataclass(frozen=True, eq=False)
class ProbabilityModel:
    """Stages in order of time; the last one speaks for everything after the training part."""

    stages: tuple[ModelStage, ...]
    names: tuple[str, ...]
    """F features that the classifiers read, in order."""

    def __post_init__(self) -> None:
        """Refuse no stage, or stages out of order."""
        starts = [stage.from_bar for stage in self.stages]
        if not starts or sorted(set(starts)) != starts:
            raise DataError("stages must be in order of time, one at least", was=starts)

    def probabilities(self, table: ModelTable) -> ProbabilityArray:
        """Return probabilities (N, T, 3) of down, flat, up.

        Thirds before the first stage and where the table is not valid. The probability of a bar
        does not depend on any later bar.

        Raises:
            DataError: If the table has other features.
        """
        self._require_names(table)
        chances = np.full((len(table.symbols), table.n_bars, len(CLASSES)), _THIRD, np.float32)
        stops = [stage.from_bar for stage in self.stages[1:]] + [table.n_bars]
        for stage, stop in zip(self.stages, stops, strict=True):
            part = IndexRange(stage.from_bar, max(stage.from_bar, min(stop, table.n_bars)))
            if len(part):
                raw = stage.model.probabilities(table, part)
                chances[:, part.start : part.stop] = stage.calibration.apply(raw)
        chances[~table.valid] = _THIRD
        return chances

    def probabilities_at_the_end(self, table: ModelTable, bars: int) -> ProbabilityArray:
        """Return probabilities (N, at most `bars`, 3) of a table's last bars, asking one stage.

        The last bar's stage alone is asked, for as many bars as it speaks for; before the first
        stage there is nothing to ask, and no bar is returned.
        """
        last = table.n_bars - 1
        speaking = [stage for stage in self.stages if stage.from_bar <= last]
        if not speaking:
            return np.empty((len(table.symbols), 0, len(CLASSES)), np.float32)
        stage = speaking[-1]
        first = max(stage.from_bar, table.n_bars - bars)
        seen = min(stage.seen_until, first)
        only = ModelStage(first, seen, stage.model, stage.calibration)
        return ProbabilityModel((only,), self.names).probabilities(table)[:, first:]

    def probabilities_without_later_bars(
        self, table: ModelTable, bars: Iterable[int]
    ) -> ProbabilityArray:
        """Return probabilities (N, T, 3), made at some bars from a table that ends there."""
        chances = self.probabilities(table)
        for bar in sorted(bars, reverse=True):  # a bar's own end is written last
            ends = self.probabilities_at_the_end(table.until(bar + 1), END_BARS)
            chances[:, bar + 1 - ends.shape[1] : bar + 1] = ends
        return chances

    def raw_probabilities(self, table: ModelTable) -> ProbabilityArray:
        """Return the same before calibration, (N, T, 3)."""
        plain = (
            ModelStage(stage.from_bar, stage.seen_until, stage.model, Calibration())
            for stage in self.stages
        )
        return ProbabilityModel(tuple(plain), self.names).probabilities(table)

    def stream(self, n_symbols: int) -> CalibratedStream:
        """Begin to take bars after the training part one at a time."""
        last = self.stages[-1]
        return CalibratedStream(last.model.stream(n_symbols), last.calibration)

    def _require_names(self, table: ModelTable) -> None:
        if table.names != self.names:
            other = sorted(set(table.names) ^ set(self.names)) or ["another order"]
            rule = "table must have the features the model was fitted on, in order"
            remedy = "Train a model on this data: tradingbot supervised train"
            raise DataError(rule, was=", ".join(other[:5]), remedy=remedy)


@dataclass(frozen=True, eq=False)
class CalibratedStream:
    """Calibrates what a stream says."""

    inner: Stream
    calibration: Calibration

    def push(self, rows: ProbabilityArray) -> ProbabilityArray:
        """Take the next bar (N, F), unscaled; return calibrated probabilities (N, 3)."""
        return self.calibration.apply(self.inner.push(rows)).astype(np.float32)
