"""Which model serves: opened, proved, then put in place of the one before by one assignment.

The ladder: fresh (what the registry says) → last good (that one could not be opened, the one
before serves on) → hold (answers are no numbers: no new risk) → none (503; also once the one that
served is retired).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from threading import Lock
from time import monotonic

from tradingbot.domain.errors import ConfigError, StorageError, TradingError, UserError
from tradingbot.serving.model_versions import ModelVersion
from tradingbot.serving.registry import ModelRegistry
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.server.bar_stream import ModelStream, PushedBar
from tradingbot.serving.server.metrics import Rung, ServerMetrics
from tradingbot.serving.server.portfolios import RunningSleeves, SleeveRunner
from tradingbot.serving.server.prediction import ServingModel
from tradingbot.serving.server.problems import Problem, of_user_error
from tradingbot.serving.server.settings import ServerSettings

_log = logging.getLogger("tradingbot.serving")
_NONE_ON_PAPER = "none is on paper; put one there: tradingbot models promote VERSION"
_RETRY_S = 30.0
"""Seconds after which a bundle that could not be opened is tried again."""
_MAX_NOT_FINITE = 3
"""Answers in a row that are no numbers, after which the golden vectors are asked again."""


@dataclass(frozen=True, eq=False)
class ServingSnapshot:
    """What a request works with from its beginning to its end."""

    serving: ServingModel
    stream: ModelStream
    """Guarded by `ModelSlot.bars_lock`."""


class ModelSlot:
    """The place of the model that serves; `current` may be read by any thread at any time."""

    def __init__(
        self,
        workspace: Path,
        settings: ServerSettings,
        metrics: ServerMetrics,
        *,
        clock: Callable[[], datetime],
        sleeves: SleeveRunner | None = None,
    ) -> None:
        """Name the workspace; nothing serves before `follow`."""
        self._sleeves = sleeves
        self.current: ServingSnapshot | None = None
        self.bars_lock = Lock()
        self.problem: str | None = None
        """Why the registry's version does not serve."""
        self.registry_problem: str | None = None
        """Why the registry cannot be read."""
        self.is_holding = False
        self._registry = ModelRegistry(workspace)
        self._settings, self._metrics, self._clock = settings, metrics, clock
        self._swap_lock = Lock()
        self._history: deque[PushedBar] = deque(maxlen=settings.history_bars)
        self._seen: tuple[object, ...] = ()
        self._tried_at = -_RETRY_S
        self._n_not_finite = 0
        metrics.show_rung("none")

    @property
    def rung(self) -> Rung:
        """Where on the ladder it stands."""
        if self.current is None:
            return "none"
        return "hold" if self.is_holding else self.current.serving.state

    def require(self) -> ServingSnapshot:
        """Return what serves.

        Raises:
            Problem: 503, where nothing does.
        """
        if self.current is None:
            why = self.problem or self.registry_problem or _NONE_ON_PAPER
            raise Problem(503, "no_model", f"no model serves: {why}", headers={"retry-after": "5"})
        return self.current

    def follow(self) -> None:
        """Serve what the registry says, where that is another version than now."""
        with self._swap_lock:
            seen = self._stat()
            is_due = self.problem is not None and monotonic() - self._tried_at >= _RETRY_S
            if seen == self._seen and not is_due and self.registry_problem is None:
                return
            self._seen, self._tried_at = seen, monotonic()
            try:
                wanted = self._registry.current("paper")
            except UserError as e:
                self.registry_problem = str(e)
                _log.error("the registry cannot be read: %s", e)
                return
            self.registry_problem = None
            if wanted is None:
                self._retire()
            elif not self._serves(wanted):
                self._try(wanted)
            if self.current is None and wanted is not None:
                self._fall_back(wanted)
            if self.current is None and wanted is None:
                _log.warning("no model serves: %s", _NONE_ON_PAPER)

    def swap(self, reference: str, *, reason: str, accept: str | None) -> ServingSnapshot:
        """Decide in the registry that a version serves, and serve it.

        A version that was on paper before is rolled back to, another one is promoted.

        Raises:
            Problem: 404, if there is no such version; 409, if it may not or cannot serve. What
                served before serves on.
        """
        with self._swap_lock:
            try:
                version = self._registry.version(reference)
            except UserError as e:
                raise of_user_error(e, 404, "no_version") from e
            try:
                version = self._decide(version, reason, accept)
                opened = self._open(version)
            except UserError as e:
                self._metrics.swaps.labels("refused").inc()
                raise of_user_error(e, 409, "swap_refused") from e
            self._seen = self._stat()
            return self._put(opened)

    def push(self, bar: PushedBar) -> ServingSnapshot:
        """Let the model that serves take the next bar; hold `bars_lock` until it was asked.

        Raises:
            Problem: 503 without a model, 409 or 422 if the bar cannot be taken.
        """
        snapshot = self.require()
        snapshot.stream.take(bar)
        self._history.append(bar)
        return snapshot

    def note_answer(self, snapshot: ServingSnapshot, *, is_finite: bool) -> None:
        """Count answers that are no numbers; prove the model again where they repeat."""
        if is_finite:
            self._n_not_finite = 0
            return
        self._metrics.not_finite.inc()
        self._n_not_finite += 1
        if self._n_not_finite < _MAX_NOT_FINITE or snapshot is not self.current:
            return
        try:
            snapshot.serving.model.check()
            self._n_not_finite = 0  # what it was asked is odd, not the model
        except (StorageError, TradingError) as e:
            _log.critical("the model holds: %s", e)
            self.is_holding = True
            self._metrics.show_rung(self.rung)

    def _decide(self, version: ModelVersion, reason: str, accept: str | None) -> ModelVersion:
        at = self._clock()
        if version.state == "paper":
            return version
        if version.was_on_paper:
            return self._registry.roll_back(version.name, at=at, reason=reason)
        return self._registry.promote(version.name, at=at, to="paper", accept=accept, reason=reason)

    def _try(self, version: ModelVersion) -> None:
        try:
            self._put(self._open(version))
        except Exception as e:  # whatever a bundle does, what served before serves on
            why = f"{e.rule}, was {e.was}" if isinstance(e, UserError) else repr(e)
            self.problem = f"{version.name}: {why}"
            self._metrics.swaps.labels("refused").inc()
            _log.error("%s cannot serve: %s", version.name, e)
            if self.current is not None:
                old = self.current
                self.current = replace(old, serving=replace(old.serving, state="last_good"))
            self._metrics.show_rung(self.rung)

    def _retire(self) -> None:
        """Serve no more what a person retired; what the registry does not know serves on."""
        now = self.current
        sha256 = None if now is None else now.serving.model.sha256
        for version in self._registry.versions():
            if version.bundle_sha256 == sha256 and version.state == "retired":
                self.current, self.problem, self.is_holding = None, None, False
                self._metrics.show_rung(self.rung)
                _log.warning("%s was retired and serves no more", version.name)

    def _fall_back(self, wanted: ModelVersion) -> None:
        """Serve the newest version that was on paper before and can be opened."""
        for version in reversed(self._registry.versions()):
            if version.name == wanted.name or not version.was_on_paper:
                continue
            try:
                self._put(replace(self._open(version), state="last_good"), problem=self.problem)
            except Exception as e:  # the next one may
                _log.error("%s cannot serve: %s", version.name, e)
                continue
            return

    def _open(self, version: ModelVersion) -> ServingModel:
        """Open a bundle and compare its golden vectors."""
        path = self._registry.bundle_path(version)
        model = ServedModel.open(path, sha256=version.bundle_sha256)
        if model.portfolio is not None and self._sleeves is None:
            raise ConfigError(
                "a server must be given what runs sleeves to serve a portfolio",
                was="a server without",
                where=version.name,
                remedy=f"Trade it on paper: tradingbot paper start {version.name}",
            )
        return ServingModel(model, version.name)

    def _put(self, serving: ServingModel, *, problem: str | None = None) -> ServingSnapshot:
        """Bring the stream of a new model up to the present bar, then let it serve."""
        zone = self._settings.time_zone
        sleeves = self.open_sleeves(serving.model)
        stream = ModelStream(serving.model, list(self._history), time_zone=zone, sleeves=sleeves)
        with self.bars_lock:
            last = stream.closed_at
            for bar in list(self._history):
                if last is None or bar.closed_at > last:
                    stream.take_known(bar)
            new = ServingSnapshot(serving, stream)
            self.current, self.problem, self.is_holding = new, problem, False
        self._n_not_finite = 0
        told = {"version": serving.version, "sha256": serving.model.sha256}
        self._metrics.model.info(told)
        self._metrics.swaps.labels("served").inc()
        self._metrics.show_rung(self.rung)
        _log.info("%s serves: %s", serving.version, serving.model.sha256)
        return new

    def open_sleeves(self, model: ServedModel) -> RunningSleeves | None:
        """Return the sleeves of a portfolio that has seen no bar; None of single accounts."""
        if model.portfolio is None or self._sleeves is None:
            return None
        return self._sleeves(model, self._settings.time_zone)

    def _serves(self, version: ModelVersion) -> bool:
        now = self.current
        is_it = now is not None and now.serving.model.sha256 == version.bundle_sha256
        if is_it and now is not None and now.serving.state != "fresh":  # rolled back to it
            self._put(replace(now.serving, state="fresh"))
        return is_it

    def _stat(self) -> tuple[object, ...]:
        found: list[object] = []
        for name in ("versions.jsonl", "current.json"):
            try:
                told = (self._registry.folder / name).stat()
                found.append((told.st_ino, told.st_mtime_ns, told.st_size))
            except OSError:
                found.append(None)
        return tuple(found)
