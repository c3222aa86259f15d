"""What a measurement is: a figure of a dossier with its unit and evidence, or why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.oracle.intervals import Interval


class Measured(NamedTuple):
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
    read: Callable[[Dossier], Measured]


def missing(reason: str) -> Measured:
    """Return that there is no figure, and why."""
    return Measured(None, None, reason)
