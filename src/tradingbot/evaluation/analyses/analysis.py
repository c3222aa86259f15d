"""An analysis of the dossier: name, record, settings, dependencies, and how it is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.domain.errors import DataError

if TYPE_CHECKING:
    from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun


class CannotMeasureError(DataError):
    """An analysis has no meaning for this run: it is left out, and the reason is told."""


@dataclass(frozen=True, eq=False)
class AnalysisInputs:
    """What an analysis is made from, besides its settings."""

    subject: EvaluatedRun
    results: Mapping[str, Any] = field(default_factory=dict)
    """Name → record of every analysis that it needs; those that were left out are not there."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Name → why it was left out, of the others."""
    facts: Any = None
    """What `Analysis.facts` returned, as plain values."""
    progress: Progress = ignore_progress
    shared: Path | None = None
    """Folder of this evaluation alone, for what several analyses begin with; None: none."""

    def need(self, name: str) -> Any:
        """Return the record of an analysis.

        Raises:
            CannotMeasureError: If it was left out, for the same reason.
        """
        if name not in self.results:
            raise CannotMeasureError(self.left_out[name].rstrip("."))
        return self.results[name]


@dataclass(frozen=True, eq=False)
class Analysis:
    """One node of the graph."""

    name: str
    record: type[Any]
    """Dataclass of plain values that it returns."""
    settings: Any
    """Dataclass of everything that its result depends on besides run, data and needs."""
    measure: Callable[[AnalysisInputs], Any]
    needs: tuple[str, ...] = ()
    facts: Callable[[], Any] | None = None
    """Plain values from outside the run, read when its turn has come; part of its key."""
    check: Callable[[], object] | None = None
    """Raises what can be known before anything is counted or made."""
    is_required: bool = False
    """Without it there is no dossier: what others are left out for is an error here."""
    weight: float = 1.0
    """How long it takes, roughly: heavier ones begin first."""

    def __post_init__(self) -> None:
        """Refuse a weight that cannot be compared."""
        assert math.isfinite(self.weight)
