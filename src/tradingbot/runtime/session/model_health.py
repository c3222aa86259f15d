"""Whether the model of a session still answers as it did when it was exported."""

from __future__ import annotations

from datetime import date, datetime

from tradingbot.domain.errors import StorageError
from tradingbot.domain.events.session import AlertLevel, AlertRaised
from tradingbot.runtime.session.model import DecidingModel

UNHEALTHY, HEALTHY = "MODEL_UNHEALTHY", "MODEL_HEALTHY"
"""Codes of the alerts where answers are others than those of the bundle, and are those again."""


class ModelHealth:
    """Compares a model with its golden vectors: once a day, and for as long as it is not well."""

    def __init__(self) -> None:
        """Begin with a model that was compared when it was opened."""
        self.problem: str | None = None
        """What is wrong; None where nothing is. While it is something, nothing is opened."""
        self._day: date | None = None

    def check(self, model: DecidingModel, day: date, at: datetime) -> list[AlertRaised]:
        """Compare where it is due; return what must be told."""
        if self.problem is None and self._day in (None, day):
            self._day = day
            return []
        self._day, before = day, self.problem
        try:
            model.check()
        except StorageError as e:
            self.problem = str(e)
            told = AlertRaised(at, AlertLevel.CRITICAL, UNHEALTHY, self.problem)
            return [] if before == self.problem else [told]
        self.problem = None
        well = "the model answers as it did when it was exported"
        return [] if before is None else [AlertRaised(at, AlertLevel.INFO, HEALTHY, well)]
