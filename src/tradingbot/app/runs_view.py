"""What the command line shows of runs: read from their folders, written to none of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tradingbot.domain.errors import StorageError, UserError
from tradingbot.runs import RunDirectory, comparison, config_differences, list_runs
from tradingbot.runs.directory import RECORD_FILE, STATUS_FILE
from tradingbot.runs.loading import checkpoint_folders, load_checkpoint, update_of
from tradingbot.runs.manifest import read_manifest
from tradingbot.runs.verification import file_problems
from tradingbot.training.environment_words import describe_environment
from tradingbot.training.result_file import RESULT_FILE, TrainResult, read_result

if TYPE_CHECKING:
    from tradingbot.networks.parameters import ParameterReport

METRICS, EVALUATIONS = "metrics", "evaluations"
NOT_EVALUATED = "not evaluated yet"
state_of = comparison.state_of


@dataclass(frozen=True)
class RunLine:
    """A run in a list."""

    id: str
    state: str
    learner: str = ""
    created_at: datetime | None = None
    update: int | None = None
    steps: int | None = None
    score: float | None = None
    """Of the newest checkpoint: mean of the single agents' Sharpe ratios of alpha on the first
    half of validation; None where validation lets no agent trade."""
    agents: int | None = None
    trading_agents: int | None = None
    """Agents that validation lets trade; None where the run has not ended."""
    data: str = ""
    problem: str | None = None
    """Why it cannot be read."""


@dataclass(frozen=True)
class CheckpointLine:
    """A checkpoint of a run, as its manifest says; `problem` where it is damaged."""

    name: str
    labels: tuple[str, ...] = ()
    update: int = 0
    steps: int = 0
    n_bytes: int = 0
    metrics: dict[str, float | None] | None = None
    weights_sha256: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side."""

    runs: tuple[str, str]
    config: tuple[str, ...]
    """What differs in the configuration, `key: first → second`."""
    facts: dict[str, tuple[Any, Any]]
    """Data, code, seed, learner and the like, of both; only those that differ."""
    metrics: dict[str, tuple[float | None, float | None]]
    """Figures of both at their ends."""
    weights: tuple[str | None, str | None]
    """Hash of the newest weights of both."""

    @property
    def note(self) -> str | None:
        """What to mind when figures are compared; None where both are equally far."""
        if "updates" not in self.facts:
            return None
        (a, b), (x, y) = self.runs, self.facts["updates"]
        return f"{a} is at update {x:,}, {b} at update {y:,}: their figures are not of one moment"

    @property
    def weights_are_equal(self) -> bool | None:
        """Whether both ended with the same weights, bit for bit; None where one has none."""
        return None if None in self.weights else self.weights[0] == self.weights[1]


def list_lines(root: Path) -> list[RunLine]:
    """Describe every run below a folder, the newest last; damaged ones too."""
    lines = [_line(folder) for folder in list_runs(root)]
    return sorted(lines, key=lambda line: (str(line.created_at or ""), line.id))


def folder_lines(run_folder: Path, *, verify: bool = False) -> list[CheckpointLine]:
    """Describe the checkpoints below a run's folder, also where its record is damaged."""
    folders = checkpoint_folders(run_folder)
    return [_checkpoint_line(folder, verify=verify) for folder in folders]


def record_problems(run_folder: Path) -> tuple[str, ...]:
    """Say which files of a run besides its checkpoints are missing or not as they were, and how."""
    try:
        run = RunDirectory.open(run_folder)
    except StorageError as e:
        return (f"{RECORD_FILE}: {e.was}",)
    try:
        return file_problems(run)
    except StorageError as e:
        return (f"{STATUS_FILE}: {e.was}",)


def last_figures(run: RunDirectory) -> dict[str, float]:
    """Return the figures of the last update and the last evaluation, means over agents."""
    found: dict[str, float] = {}
    for journal, prefix in ((METRICS, ""), (EVALUATIONS, "eval/")):
        last = deque(run.read_journal(journal), maxlen=1)
        for name, value in _flat(last[0] if last else {}):
            number = summarise(value)
            if number is not None:
                found[prefix + name] = number
    return found


def result_of(run: RunDirectory) -> TrainResult | None:
    """Return what a finished run is worth; None where it is not finished.

    Raises:
        StorageError: If its file is damaged.
    """
    return read_result(run.path) if (run.path / RESULT_FILE).is_file() else None


def describe_environment_of(run: RunDirectory, result: TrainResult | None) -> str:
    """Say what a run was trained in; of a goal also whether it was met."""
    environment = run.record.config.get("environment", {})
    return describe_environment(environment, result.parts if result else ())


def verdict_of(run: RunDirectory, workspace: Path) -> str:
    """Return the verdict of a run's dossier by the product's gates, and why there is none."""
    from tradingbot.evaluation.pipeline.stored_dossier import (
        DOSSIER_FILE,
        EVALUATION_FOLDER,
        judge_run,
    )

    if not (run.path / EVALUATION_FOLDER / DOSSIER_FILE).is_file():
        return NOT_EVALUATED
    try:
        memo = judge_run(run, workspace, "product")
    except UserError as e:
        return f"none: {e}"
    return f"{memo.verdict}: {memo.headline}"


def parameters_of(run: RunDirectory) -> ParameterReport | None:
    """Return what a run's agents weigh; None where it was made by an older version."""
    from tradingbot.networks.parameters import ParameterReport  # brings torch: seconds

    counts = run.record.parameters
    return ParameterReport(**counts) if counts else None


def compare_runs(first: RunDirectory, second: RunDirectory) -> Comparison:
    """Put two runs side by side."""
    pair = (first, second)
    facts = {row.name: (row.values[0], row.values[1]) for row in comparison.differing_facts(pair)}
    figures = [last_figures(run) for run in pair]
    names = sorted({*figures[0], *figures[1]})
    return Comparison(
        runs=(first.id, second.id),
        config=tuple(config_differences(first.record.config, second.record.config)),
        facts=facts,
        metrics={name: (figures[0].get(name), figures[1].get(name)) for name in names},
        weights=(_weights(first), _weights(second)),
    )


def summarise(value: object) -> float | None:
    """Return a number, or the mean of one number per agent; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, list) and value:
        numbers = [n for n in value if isinstance(n, int | float) and not isinstance(n, bool)]
        return sum(numbers) / len(numbers) if len(numbers) == len(value) else None
    return None


def _line(folder: Path) -> RunLine:
    try:
        run = RunDirectory.open(folder)
        status, record = run.status(), run.record
        checkpoints = folder_lines(run.path)
    except StorageError:
        return RunLine(folder.name, "damaged", problem="; ".join(record_problems(folder)))
    newest = checkpoints[-1].metrics if checkpoints else None
    trading = _trading_agents(run)
    return RunLine(
        id=run.id,
        state=state_of(run),
        learner=record.learner,
        created_at=record.created_at,
        update=status.update,
        steps=status.steps,
        score=None if trading == 0 else (newest or {}).get("score"),
        agents=len(record.data.agents),
        trading_agents=trading,
        data=record.data.in_words,
    )


def _trading_agents(run: RunDirectory) -> int | None:
    """Count the agents that trade; None where the run has no readable result."""
    with suppress(StorageError):
        result = result_of(run)
        return None if result is None else len(result.trading_agents)
    return None


def _checkpoint_line(folder: Path, *, verify: bool) -> CheckpointLine:
    try:
        manifest = load_checkpoint(folder).manifest if verify else read_manifest(folder)
    except StorageError as e:
        return CheckpointLine(folder.name, update=update_of(folder), problem=f"{e.was or e.rule}")
    return CheckpointLine(
        name=folder.name,
        labels=manifest.label_names,
        update=manifest.update,
        steps=manifest.steps,
        n_bytes=sum(file.n_bytes for file in manifest.files.values()),
        metrics=manifest.metrics,
        weights_sha256=manifest.weights_sha256,
    )


def _flat(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield names and values of a row; of a mapping inside it those of the mapping."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        else:
            yield name, value


def _weights(run: RunDirectory) -> str | None:
    hashes = [line.weights_sha256 for line in folder_lines(run.path) if line.weights_sha256]
    return hashes[-1] if hashes else None
