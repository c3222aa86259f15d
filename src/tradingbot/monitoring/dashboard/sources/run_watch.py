"""Training runs that are watched: a list of all, and one followed as it learns."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tradingbot.data.atomic import is_locked
from tradingbot.domain.errors import StorageError, UserError
from tradingbot.monitoring.dashboard.sources.freshness import judge_file
from tradingbot.monitoring.dashboard.sources.json_lines import JsonLinesTail, read_last_lines
from tradingbot.monitoring.dashboard.sources.remembered import Remembered, stamp_of
from tradingbot.monitoring.dashboard.sources.run_view import (
    RecorderWords,
    RunSummary,
    RunView,
    ScoreRow,
    UpdateRow,
    mean_of,
    numbers_of,
)
from tradingbot.runs.directory import LOCK_FILE, RECORD_FILE, STATUS_FILE, RunDirectory
from tradingbot.runs.finding import list_runs

DOSSIER = Path("evaluation") / "dossier.json"
_DUE_S = 300.0
"""Silence of a run that trains after which it counts as stale."""
_TERM, _ENTROPY = "reward/", "policy/normalised_entropy"
_SAID = 40
_OBSERVED = 240
_LEAST_S = 2.0


class RunsWatch:
    """All runs of a workspace."""

    def __init__(self, workspace: Path, clock: Callable[[], datetime]) -> None:
        self._root, self._clock = workspace / "runs", clock
        self._summaries: Remembered[RunSummary] = Remembered()
        self._lock = threading.Lock()
        self._followed: dict[str, _FollowedRun] = {}

    def summaries(self) -> list[RunSummary]:
        """Return every run, those that train first, then the newest first."""
        found = [self._summary(folder) for folder in list_runs(self._root)]
        epoch = datetime(1970, 1, 1, tzinfo=UTC)
        return sorted(found, key=lambda r: (r.is_running, r.created_at or epoch), reverse=True)

    def run(self, identity: str) -> RunView | None:
        """Return one run in full; None where there is none of that id."""
        folder = next((each for each in list_runs(self._root) if each.name == identity), None)
        if folder is None:
            return None
        with self._lock:
            followed = self._followed.setdefault(identity, _FollowedRun(folder))
        return followed.look(self._summary(folder), self._clock())

    def is_followed(self, identity: str) -> bool:
        """Tell whether a run was read already: the next look reads what it wrote since."""
        return identity in self._followed

    def folder(self, identity: str) -> Path:
        """Return the folder of a run."""
        return self._root / identity

    def _summary(self, folder: Path) -> RunSummary:
        files = [folder / RECORD_FILE, folder / STATUS_FILE, folder / DOSSIER]
        found = self._summaries.get(folder.name, files, lambda: _summarise(folder))
        if found.state == "running" and not is_locked(folder / LOCK_FILE):
            return replace(found, state="killed")
        return found


class _FollowedRun:
    """One run; its files are read as they grow."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, threading.Lock()
        self._updates = JsonLinesTail(folder / "metrics.jsonl", _keep_update)
        self._scores = JsonLinesTail(folder / "evaluations.jsonl", _keep_score)
        self._said: tuple[RecorderWords, ...] = ()
        self._said_stamp: object = None
        self._observed: deque[tuple[datetime, int]] = deque(maxlen=_OBSERVED)

    def look(self, summary: RunSummary, now: datetime) -> RunView:
        with self._lock:
            problem = ""
            try:
                updates, scores = tuple(self._updates.read()), tuple(self._scores.read())
                self._read_recorder()
            except StorageError as e:
                problem, updates, scores = str(e), tuple(self._updates.rows), ()
            written = _written_at(self._updates.path)
            fresh = judge_file(now, written, is_running=summary.is_running, due_s=_DUE_S)
            speed = self._speed(summary, updates[-1].steps if updates else 0, written, now)
            left = None
            if speed and summary.is_running and updates:
                left = max(summary.steps_per_agent - updates[-1].steps, 0) / speed
            return RunView(summary, fresh, updates, scores, self._said, speed, left, problem)

    def _read_recorder(self) -> None:
        path = self._folder / "recorder.jsonl"
        stamp = stamp_of(path)
        if stamp != self._said_stamp:
            rows = read_last_lines(path)
            self._said = tuple(_words_of(rows)[: -_SAID - 1 : -1])
            self._said_stamp = stamp

    def _speed(
        self, summary: RunSummary, steps: int, written: datetime | None, now: datetime
    ) -> float | None:
        """Return steps per agent and second: as seen here, else since the run began."""
        if summary.is_running and (not self._observed or self._observed[-1][1] != steps):
            self._observed.append((written or now, steps))
        if len(self._observed) > 1:
            (first, before), (last, after) = self._observed[0], self._observed[-1]
            seconds = (last - first).total_seconds()
            if seconds > _LEAST_S and after > before:
                return (after - before) / seconds
        if summary.created_at is None or written is None or not steps:
            return None
        seconds = (written - summary.created_at).total_seconds()
        return steps / seconds if seconds > 0 else None


def _summarise(folder: Path) -> RunSummary:
    try:
        run = RunDirectory.open(folder)
        status, record = run.status(), run.record
    except UserError as e:
        return RunSummary(folder.name, "damaged", problem=str(e))
    data, config = record.data, record.config
    return RunSummary(
        id=folder.name,
        state=status.state,
        learner=record.learner,
        created_at=record.created_at,
        changed_at=status.changed_at,
        steps=status.steps,
        steps_per_agent=_number(config, "budget", "steps_per_agent"),
        agents=data.agents,
        data=data.in_words,
        action_space=str(_value(config, "task", "rules", "action", "space") or ""),
        words=status.verdicts,
        reason=status.reason or "",
        is_evaluated=(folder / DOSSIER).is_file(),
    )


def _value(config: Any, *keys: str) -> Any:
    for key in keys:
        config = config.get(key) if isinstance(config, dict) else None
    return config


def _number(config: Any, *keys: str) -> int:
    found = _value(config, *keys)
    return found if isinstance(found, int) else 0


def _keep_update(row: dict[str, Any]) -> UpdateRow:
    metrics: dict[str, Any] = row.get("metrics") or {}
    return UpdateRow(
        int(row.get("sequence") or 0),
        int(row.get("steps") or 0),
        {name: mean_of(value) for name, value in metrics.items()},
        {
            name.removeprefix(_TERM): numbers_of(value)
            for name, value in metrics.items()
            if name.startswith(_TERM) and isinstance(value, list)
        },
        numbers_of(metrics[_ENTROPY]) if isinstance(metrics.get(_ENTROPY), list) else None,
    )


def _keep_score(row: dict[str, Any]) -> ScoreRow:
    scores: dict[str, Any] = row.get("scores") or {}
    kept = {name: numbers_of(value) for name, value in scores.items() if isinstance(value, list)}
    mean = row.get("mean_score")
    return ScoreRow(
        int(row.get("sequence") or 0),
        int(row.get("steps") or 0),
        float("nan") if mean is None else float(mean),
        bool(row.get("is_best")),
        kept,
    )


def _words_of(rows: list[dict[str, Any]]) -> list[RecorderWords]:
    """Return what was said, each diagnosis where it is new; the oldest first."""
    said: list[RecorderWords] = []
    before: set[tuple[str, str]] = set()
    for row in rows:
        now: set[tuple[str, str]] = set()
        update = int(row.get("update") or 0)
        for each in row.get("verdicts") or ():
            code, agent = str(each.get("code")), str(each.get("agent"))
            now.add((code, agent))
            if (code, agent) not in before:
                told = (str(each.get(name)) for name in ("severity", "words", "remedy"))
                severity, words, remedy = told
                said.append(RecorderWords(update, code, severity, agent, words, remedy))
        if row.get("words"):
            response = str(row.get("response") or "")
            said.append(RecorderWords(update, response, "response", "", str(row["words"]), ""))
        before = now
    return said


def _written_at(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError:
        return None
