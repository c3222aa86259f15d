"""What a source is: asked for its metrics now, it says what it found and what it could not read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from tradingbot.domain.errors import UserError
from tradingbot.monitoring.alerts.metric import MetricSample

FAILED = "source_failed"


@dataclass(frozen=True)
class SourceReading:
    """What one source found."""

    samples: tuple[MetricSample, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    """Subject → why it could not be read."""


class AlertSource(Protocol):
    """Measures; remembers what it needs to be quick the next time."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of what it measures."""

    def measure(self, now: datetime) -> SourceReading:
        """Look at everything of this source; what cannot be read is a problem, not an error."""

    def close(self) -> None:
        """Give everything back."""


def measure_all(
    sources: Iterable[AlertSource], now: datetime
) -> tuple[list[MetricSample], frozenset[str]]:
    """Ask every source; return its samples with `source_failed`, and metrics that are not known."""
    samples: list[MetricSample] = []
    unknown: set[str] = set()
    for source in sources:
        found = source.measure(now)
        samples += found.samples
        subjects = {each.subject for each in found.samples} - found.problems.keys()
        samples += [MetricSample(FAILED, each, 0.0) for each in sorted(subjects)]
        samples += [MetricSample(FAILED, each, 1.0, why) for each, why in found.problems.items()]
        if found.problems:
            unknown.update(source.metrics)
    return samples, frozenset(unknown)


def describe_problem(error: Exception) -> str:
    """Return why something could not be read, in one line."""
    told = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
    return " ".join(told.split())[:300]
