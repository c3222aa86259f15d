"""The alerter: looks at everything, lets the engine decide, writes it down, then tells.

What it decides is on disk before it is sent, so that a kill loses no notice. Where the disk refuses
it is sent all the same: that the disk refuses is itself worth an alert.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

from tradingbot.domain.errors import StorageError
from tradingbot.monitoring.alerts.audience import audience_of
from tradingbot.monitoring.alerts.delivery import Dispatcher
from tradingbot.monitoring.alerts.engine import AlertObservation, EngineState, advance
from tradingbot.monitoring.alerts.metric import MetricSample
from tradingbot.monitoring.alerts.notice import AlertNotice
from tradingbot.monitoring.alerts.settings import AlertSettings
from tradingbot.monitoring.alerts.silence import Silence
from tradingbot.monitoring.alerts.sources.source import FAILED, AlertSource, measure_all
from tradingbot.monitoring.alerts.store import WATCHER, AlertStore

_OLDEST_UNSENT, _BEFORE_NEXT_TRY = timedelta(hours=1), timedelta(minutes=1)
_LOOKS_BETWEEN_PRUNING = 3600
_DATABASE = "database of alerts"


class AlertWatcher:
    """Watches by rules.

    Args:
        settings: Rules.
        sources: What is measured.
        store: Where it is written.
        dispatcher: Tells.
        process: Number of this process, for the heartbeat.
    """

    def __init__(
        self,
        settings: AlertSettings,
        sources: Sequence[AlertSource],
        store: AlertStore,
        dispatcher: Dispatcher,
        *,
        process: int,
    ) -> None:
        self.settings, self.store, self._dispatcher = settings, store, dispatcher
        self._sources, self._process = tuple(sources), process
        self.own_samples: Callable[[], list[MetricSample]] = list
        """What the process that runs this knows of itself, e.g. `guard_down`."""
        self._engine = EngineState()
        self._audience = partial(audience_of, channels=settings.channels)
        self._looks, self._storage_problem = 0, ""
        self._tried_at: datetime | None = None

    def begin(self, now: datetime) -> None:
        """Go on from what was known last, and send what a kill left unsent.

        Raises:
            StorageError: If the database cannot be read.
        """
        self._engine = self.store.load(now)
        self._send_unsent(now)
        self._beat(now)

    def look(self, now: datetime) -> tuple[AlertNotice, ...]:
        """Look once; return what is told. Nothing that is watched can make this fail."""
        self._try_again(now)
        samples, unmeasured = measure_all(self._sources, now)
        samples += self.own_samples()
        samples.append(
            MetricSample(
                FAILED, _DATABASE, float(bool(self._storage_problem)), self._storage_problem
            )
        )
        self._storage_problem = ""
        seen = AlertObservation(now, samples, unmeasured, *self._acts())
        terms = (self.settings.rules, seen, self.settings.storm, self._audience)
        self._engine, notices, changed = advance(self._engine, *terms)
        numbers: tuple[int, ...] = ()
        try:
            numbers = self.store.save(changed, notices, self._engine)
        except StorageError as e:
            self._storage_problem = str(e)
        for place, notice in enumerate(notices):
            self._dispatcher.send(numbers[place] if numbers else 0, notice)
        self.record_results()
        self._beat(now)
        return notices

    def record_results(self) -> None:
        """Write what became of notices; of those that are in no database, nothing."""
        found = [each for each in self._dispatcher.results() if each.notice]
        try:
            self.store.record_deliveries(found)
        except StorageError as e:
            self._storage_problem = str(e)

    def end(self, now: datetime) -> None:
        """End by itself: the heartbeat says so."""
        self.record_results()
        self.store.stop(WATCHER, now)

    @property
    def firing(self) -> int:
        """How many incidents fire now."""
        return sum(each.is_firing for each in self._engine.incidents.values())

    def _try_again(self, now: datetime) -> None:
        """Send what every channel refused once more: each minute, for an hour."""
        is_early = self._tried_at is not None and abs(now - self._tried_at) < _BEFORE_NEXT_TRY
        if is_early or not self._dispatcher.wait(0.0):  # what is under way is not unsent
            return
        self.record_results()
        if self._storage_problem:  # what was sent may not have been written
            return
        try:
            self._send_unsent(now)
        except StorageError as e:
            self._storage_problem = str(e)

    def _send_unsent(self, now: datetime) -> None:
        self._tried_at = now
        for number, notice in self.store.unsent():
            if now - notice.at <= _OLDEST_UNSENT:
                self._dispatcher.send(number, notice)

    def _acts(self) -> tuple[tuple[Silence, ...], dict[str, str]]:
        try:
            return self.store.silences(), self.store.acknowledged()
        except StorageError as e:
            self._storage_problem = str(e)
            return (), {}

    def _beat(self, now: datetime) -> None:
        self._looks += 1
        interval_s = self.settings.interval_s
        try:
            self.store.beat(WATCHER, now, process=self._process, interval_s=interval_s)
            if self._looks % _LOOKS_BETWEEN_PRUNING == 0:
                self.store.prune()
        except StorageError as e:
            self._storage_problem = str(e)
