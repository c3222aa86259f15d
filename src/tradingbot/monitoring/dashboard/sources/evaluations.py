"""Evaluations of runs: the dossier that an evaluation left, judged again by the gates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tradingbot.domain.errors import UserError
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.result import GateResult, Memo
from tradingbot.evaluation.performance.record import PolicyPerformance
from tradingbot.monitoring.dashboard.sources.remembered import Remembered
from tradingbot.monitoring.dashboard.sources.run_view import RunSummary
from tradingbot.monitoring.dashboard.sources.run_watch import DOSSIER
from tradingbot.runs.directory import RunDirectory
from tradingbot.runs.ledger import LEDGER_FILE
from tradingbot.training.result_file import RESULT_FILE, TrainResult, read_result


@dataclass(frozen=True)
class JudgedRun:
    """What is known of one evaluated run; `problem` where it cannot be read or judged."""

    run: str
    dossier: Dossier | None = None
    memo: Memo | None = None
    problem: str = ""


@dataclass(frozen=True)
class PhaseProgress:
    """How many gates of a phase hold."""

    phase: str
    gates: tuple[GateResult, ...]

    @property
    def passed(self) -> int:
        """Gates that hold."""
        return sum(gate.outcome == "pass" for gate in self.gates)

    @property
    def measured(self) -> int:
        """Gates that something is known of."""
        return sum(gate.outcome != "not measured" for gate in self.gates)


@dataclass(frozen=True)
class SpaceRow:
    """A finished run beside others with another kind of action, on its test part."""

    run: str
    action_space: str
    learner: str
    data: str
    first_day: str
    last_day: str
    agents: PolicyPerformance


class EvaluationSource:
    """Reads what evaluations left; each file once, until it is another."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._kept: Remembered[JudgedRun] = Remembered()
        self._results: Remembered[TrainResult | None] = Remembered()

    def read(self, run: str) -> JudgedRun:
        """Return the evaluation of a run."""
        folder = self._workspace / "runs" / run
        files = [folder / DOSSIER, self._workspace / LEDGER_FILE]
        return self._kept.get(run, files, lambda: self._read(folder))

    def spaces(self, runs: list[RunSummary]) -> list[SpaceRow]:
        """Return finished runs with their kind of action, discrete ones and others alike."""
        rows = []
        for run in runs:
            folder = self._workspace / "runs" / run.id
            if run.state != "finished":
                continue
            files = [folder / RESULT_FILE]
            result = self._results.get(run.id, files, lambda folder=folder: _result(folder))  # type: ignore[misc]
            if result is None or not result.parts or not result.parts[-1].policies:
                continue
            test = result.parts[-1]
            facts = (run.id, run.action_space, run.learner, run.data)
            rows.append(SpaceRow(*facts, test.first_day, test.last_day, test.policies[0]))
        return rows

    def _read(self, folder: Path) -> JudgedRun:
        from tradingbot.evaluation.pipeline.stored_dossier import judge_run, read_dossier

        try:
            dossier = read_dossier(folder)
        except UserError as e:
            return JudgedRun(folder.name, problem=str(e))
        try:
            memo = judge_run(RunDirectory.open(folder), self._workspace, "product")
        except UserError as e:
            return JudgedRun(folder.name, dossier, problem=str(e))
        return JudgedRun(folder.name, dossier, memo)


def progress_by_phase(memo: Memo) -> list[PhaseProgress]:
    """Return the gates by phase, in the order of the file."""
    phases: dict[str, list[GateResult]] = {}
    for gate in memo.gates:
        phases.setdefault(gate.phase, []).append(gate)
    return [PhaseProgress(phase, tuple(gates)) for phase, gates in phases.items()]


def _result(folder: Path) -> TrainResult | None:
    try:
        return read_result(folder)
    except UserError:
        return None
