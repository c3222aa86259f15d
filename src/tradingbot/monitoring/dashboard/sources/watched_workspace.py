"""A workspace that is watched: its sessions, and what their runs and models are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from tradingbot.data.calendar import time_zone_of
from tradingbot.domain.errors import UserError
from tradingbot.domain.position import Fill
from tradingbot.monitoring.dashboard.expectation import Expectation, expect_from
from tradingbot.monitoring.dashboard.settings import DashboardSettings
from tradingbot.monitoring.dashboard.sources.agents_watch import AgentsWatch
from tradingbot.monitoring.dashboard.sources.evaluations import EvaluationSource
from tradingbot.monitoring.dashboard.sources.remembered import Remembered
from tradingbot.monitoring.dashboard.sources.run_watch import RunsWatch
from tradingbot.monitoring.dashboard.sources.session_place import SessionPlace, find_sessions
from tradingbot.monitoring.dashboard.sources.session_view import SessionView
from tradingbot.monitoring.dashboard.sources.session_watch import SessionWatch
from tradingbot.monitoring.dashboard.sources.trials import TrialsSource
from tradingbot.runs.directory import RunDirectory
from tradingbot.serving.model_versions import ModelVersion
from tradingbot.serving.registry import ModelRegistry
from tradingbot.training.result_file import RESULT_FILE, read_result

_LIST_EVERY = timedelta(seconds=2)
"""Between two looks for new sessions; those that are known are read at every look."""


class WatchedWorkspace:
    """Shared by all pages and readers of one dashboard."""

    def __init__(self, settings: DashboardSettings, clock: Callable[[], datetime]) -> None:
        self.settings, self.clock = settings, clock
        self.folder = settings.folder
        self.problem = ""
        """Why the journal that was named cannot be read; empty where it can."""
        self._lock = threading.Lock()
        self._watches: dict[str, SessionWatch] = {}
        self._listed_at: datetime | None = None
        self.runs = RunsWatch(self.folder, clock)
        self.evaluations = EvaluationSource(self.folder)
        self.trials = TrialsSource(self.folder)
        self._agents: dict[str, AgentsWatch] = {}
        self._expected: Remembered[Expectation | None] = Remembered()
        self._labels: Remembered[str] = Remembered()
        self._versions: Remembered[tuple[ModelVersion, ...]] = Remembered()

    @property
    def has_unread(self) -> bool:
        """Whether there is a session that no page asked for yet: its whole journal is read then."""
        return not all(watch.was_read for watch in self._watched())

    def sessions(self) -> list[SessionView]:
        """Return every session as it is now, by name."""
        return [self._complete(watch.look()) for watch in self._watched()]

    def session(self, name: str) -> SessionView | None:
        """Return one session as it is now; None where there is none of that name."""
        found = {watch.place.name: watch for watch in self._watched()}.get(name)
        return None if found is None else self._complete(found.look())

    def place(self, name: str) -> SessionPlace | None:
        """Return where a session is written down."""
        return next((each.place for each in self._watched() if each.place.name == name), None)

    def fills(self, name: str, symbol: str) -> tuple[Fill, ...]:
        """Return the last fills of one symbol of a session."""
        found = next((each for each in self._watched() if each.place.name == name), None)
        return () if found is None else found.fills_of(symbol)

    def agents(self, name: str) -> AgentsWatch | None:
        """Return the agents of a session; None where there is no such session."""
        place = self.place(name)
        if place is None:
            return None
        with self._lock:
            return self._agents.setdefault(f"{name}\n{place.address}", AgentsWatch(place))

    def expectation(self, session: SessionView) -> Expectation | None:
        """Return what the backtest of a session's run leads one to expect; None where unknown."""
        run = None if session.terms is None else session.terms.run
        if run is None or "/" in run:
            return None
        folder = self.folder / "runs" / run
        return self._expected.get(run, [folder / RESULT_FILE], lambda: _expect(folder, run))

    def versions(self) -> tuple[ModelVersion, ...]:
        """Return the versions of models.

        Raises:
            StorageError: If the registry is damaged.
        """
        registry = ModelRegistry(self.folder)
        log = registry.folder / "versions.jsonl"
        return self._versions.get("", [log], registry.versions) if log.exists() else ()

    def market_zone(self) -> str | None:
        """Return the zone of the exchange that the first session trades on; None without one."""
        for watch in self._watched():
            terms = watch.place.terms()
            if terms is not None:
                return _zone_of(terms.calendar)
        return None

    def _watched(self) -> list[SessionWatch]:
        with self._lock:
            now = self.clock()
            if self._listed_at is None or abs(now - self._listed_at) > _LIST_EVERY:
                self._listed_at = now
                self._list()
            return [self._watches[name] for name in sorted(self._watches)]

    def _list(self) -> None:
        try:
            places = find_sessions(self.folder, self.settings.journal)
            self.problem = ""
        except UserError as e:
            self.problem = str(e)
            places = find_sessions(self.folder, None)
            known = (each.place for each in self._watches.values())
            places += [each for each in known if each.folder is None]
        known_now = {each.name: each for each in places}
        for name in set(self._watches) - set(known_now):
            self._watches.pop(name).close()
        for name, place in known_now.items():
            if name not in self._watches or self._watches[name].place.address != place.address:
                self._watches[name] = SessionWatch(place, self.clock)

    def _complete(self, view: SessionView) -> SessionView:
        """Add what the workspace knows of a session's run and model."""
        run = "" if view.terms is None else view.terms.run
        label = ""
        if run and "/" not in run:
            folder = self.folder / "runs" / run
            label = self._labels.get(run, [folder / "run.json"], lambda: _label(folder))
        acting = view.acting
        if acting is not None:
            try:
                found = (v.name for v in self.versions() if v.bundle_sha256 == acting.sha256)
                acting = replace(acting, version=next(found, None))
            except UserError:
                pass  # the page of models says what is wrong with the registry
        return replace(view, data_label=label, acting=acting)


def _expect(folder: Path, run: str) -> Expectation | None:
    try:
        return expect_from(read_result(folder).parts[-1], run)
    except (UserError, IndexError):
        return None


def _label(folder: Path) -> str:
    try:
        return RunDirectory.open(folder).record.data.in_words
    except UserError:
        return ""


def _zone_of(calendar: str) -> str | None:
    try:
        return time_zone_of(calendar)
    except UserError:
        return None
