"""What a measurement is: a figure of a dossier with its unit and evidence, or why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.statistics.interval import Interval


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
    read: Callable[[Dossier], MeasuredValue]


def missing_value(reason: str) -> MeasuredValue:
    """Return that there is no figure, and why."""
    return MeasuredValue(None, None, reason)
