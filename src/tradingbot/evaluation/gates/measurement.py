"""What a measurement is: a figure of a dossier with its unit and evidence, or why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.statistics.interval import Interval

Finding = float | Interval | str
"""A figure, with its interval where it has one; or in words why there is none."""


class MeasuredValue(NamedTuple):
    """A figure of a dossier, or why there is none."""

    value: float | None
    interval: Interval | None = None
    reason: str = ""


@dataclass(frozen=True)
class Measurement:
    """Where a figure comes from."""

    unit: str
    evidence: str
    """Section of the report that shows it; empty where nothing does."""
    find: Callable[[Dossier], Finding]

    def read(self, dossier: Dossier) -> MeasuredValue:
        """Return the figure of a dossier."""
        return as_measured(self.find(dossier))


def as_measured(found: Finding) -> MeasuredValue:
    """Take a finding apart: figure, interval, or why there is none."""
    if isinstance(found, str):
        return MeasuredValue(None, None, found)
    if isinstance(found, Interval):
        return MeasuredValue(found.estimate, found)
    return MeasuredValue(float(found))


def left_out(dossier: Dossier, analysis: str) -> str:
    """Say why a dossier does not have an analysis."""
    return dict(dossier.left_out).get(analysis, "not evaluated")
