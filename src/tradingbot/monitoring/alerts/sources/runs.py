"""Runs that train now: the entropy of their policies, from the metrics they append."""

from __future__ import annotations

import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any

from tradingbot.data.atomic import is_locked
from tradingbot.domain.errors import UserError
from tradingbot.monitoring.alerts.metric import MetricSample
from tradingbot.monitoring.alerts.sources.source import SourceReading, describe_problem
from tradingbot.runs.directory import LOCK_FILE, RunDirectory
from tradingbot.runs.finding import list_runs

ENTROPY = "policy/normalised_entropy"
"""Figure of an update: (N,) from 0 (decided) to 1 (uniform); learners without it have none."""
_TAIL_BYTES = 1 << 20


class RunsSource:
    """Measures every run of a workspace that a process trains now."""

    metrics = ("policy_entropy",)

    def __init__(self, workspace: Path) -> None:
        self._root = workspace / "runs"
        self._agents: dict[Path, tuple[str, ...]] = {}
        self._seen: dict[Path, tuple[int, MetricSample | None]] = {}
        """Run → size of its metrics when they were read, and what they said."""

    def measure(self, now: datetime) -> SourceReading:
        """Read the last update of every run that is held."""
        samples: list[MetricSample] = []
        problems: dict[str, str] = {}
        for path in list_runs(self._root):
            if not is_locked(path / LOCK_FILE):
                continue
            try:
                found = self._entropy(path)
            except (UserError, OSError, ValueError) as e:
                problems[f"run {path.name}"] = describe_problem(e)
                continue
            samples += [] if found is None else [found]
        return SourceReading(tuple(samples), problems)

    def close(self) -> None:
        """Nothing is held."""

    def _entropy(self, run: Path) -> MetricSample | None:
        file = run / "metrics.jsonl"
        size = file.stat().st_size if file.is_file() else 0
        known = self._seen.get(run)
        if known is None or known[0] != size:
            self._seen[run] = known = (size, self._read(run, file) if size else None)
        return known[1]

    def _read(self, run: Path, file: Path) -> MetricSample | None:
        row = read_last_row(file)
        values = (row or {}).get("metrics", {}).get(ENTROPY)
        if values is None:
            return None
        numbers = [math.nan if each is None else float(each) for each in _as_list(values)]
        if run not in self._agents:
            self._agents[run] = RunDirectory.open(run).record.data.agents
        place = min(range(len(numbers)), key=lambda k: _rank(numbers[k]))
        names = self._agents[run]
        who = names[place] if len(names) == len(numbers) else f"agent {place}"
        low = sum(not each >= numbers[place] + 0.05 for each in numbers)
        told = f"{who} at update {row['sequence'] if row else '?'}; {low} of {len(numbers)} near it"
        return MetricSample("policy_entropy", f"run {run.name}", numbers[place], told)


def read_last_row(file: Path) -> dict[str, Any] | None:
    """Return the last whole row of a journal of a run, reading its end alone.

    Raises:
        ValueError: If the row is no JSON.
    """
    with file.open("rb") as opened:
        end = opened.seek(0, 2)
        opened.seek(max(0, end - _TAIL_BYTES))
        lines = opened.read().split(b"\n")[:-1]  # what follows the last end of a line is torn
    return dict(json.loads(lines[-1])) if lines else None


def _as_list(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]


def _rank(value: float) -> float:
    return -math.inf if math.isnan(value) else value
