"""One campaign from beginning to end, or from where it was killed.

Phases are walked in order. One with a gate that fails ends the campaign there, unless it is told to
go on; what was not measured does not. A kill costs what a training does after its last checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tradingbot.campaign.phases import GATES_OF, PHASES, CampaignWalk, PhaseFinding
from tradingbot.campaign.report import write_report
from tradingbot.campaign.request import CampaignRequest
from tradingbot.campaign.status import (
    LOCK_FILE,
    STATUS_FILE,
    CampaignStatus,
    PhaseRecord,
    PhaseState,
    StatusBoard,
    read_status,
)
from tradingbot.campaign.training_phase import PhaseTools
from tradingbot.data.atomic import require_no_links, storage_errors
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import ConfigError, InterruptionError
from tradingbot.evaluation.gates.gate import Gate
from tradingbot.evaluation.gates.gates_file import load_gates, read_benches
from tradingbot.evaluation.gates.judging import judge_figures, judge_gates
from tradingbot.evaluation.gates.result import GateResult
from tradingbot.executors.executor import Progress, ignore_progress
from tradingbot.runs.lock import hold_lock
from tradingbot.training.session import RUNS_FOLDER


@dataclass(frozen=True)
class CampaignCallbacks:
    """Callbacks of a campaign."""

    progress: Callable[[str], Progress] = lambda _phase: ignore_progress
    """Phase → what is told (finished, in all, what is done now) of it."""
    note: Callable[[str], None] = lambda _: None
    phase: Callable[[PhaseRecord], None] = lambda _: None
    """Told of a phase when it has ended."""
    interrupted: Callable[[], bool] = lambda: False


@dataclass(frozen=True, eq=False)
class WalkedCampaign:
    """Where a campaign ended."""

    status: CampaignStatus
    folder: Path
    page: Path


def walk_campaign(
    request: CampaignRequest,
    workspace: Path,
    *,
    jobs: int = 1,
    go_on: bool = False,
    until: str = "final",
    callbacks: CampaignCallbacks | None = None,
) -> WalkedCampaign:
    """Walk the phases; what is finished is found, not made again.

    Args:
        request: What is wanted.
        workspace: Where data, runs and campaigns are.
        jobs: Processes of evaluations and of tuning.
        go_on: Pass over gates that fail.
        until: Last phase.
        callbacks: Called while it goes on.

    Raises:
        UserError: If anything is not as it must be, or another process walks this campaign.
        InterruptionError: If it was interrupted; the same command goes on.
    """
    callbacks, folder = callbacks or CampaignCallbacks(), request.folder(workspace)
    gates, benches = load_gates(request.gates), read_benches(request.benches)
    require_no_links(folder.parent)
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(folder / LOCK_FILE, "campaign"):
        board = StatusBoard(folder, _begin(request, workspace, until))
        tools = PhaseTools(workspace, board.progress, callbacks.note, callbacks.interrupted, jobs)
        walk = CampaignWalk(request, tools)
        try:
            for name in PHASES:
                record = _walk_phase(name, walk, board, callbacks, gates, benches)
                if record.failed and not go_on:
                    board.change(state="stopped at a gate")
                    break
                if name == until:
                    break
            else:
                board.change(state="finished")
            if board.status.state == "running":
                board.change(state="finished")
        except InterruptionError:
            board.change(state="interrupted")
            raise
        return WalkedCampaign(board.status, folder, write_report(folder, board.status, request))


def _begin(request: CampaignRequest, workspace: Path, until: str) -> CampaignStatus:
    """Return the status that a campaign begins with, or goes on from.

    Phases after the last one that is to be walked stay as they are, and with them the verdict. One
    whose bars were refused, so that nothing was stored or trained, begins anew with other options.

    Raises:
        ConfigError: If a campaign of this name asked for something else.
    """
    phases = tuple(PhaseRecord(name) for name in PHASES)
    begun = CampaignStatus(request.name, "", request.identity, "running", phases)
    folder = request.folder(workspace)
    if (folder / STATUS_FILE).is_file():
        before = read_status(folder)
        if before.identity != request.identity:
            if not _has_made_anything(request, workspace):
                return begun
            raise ConfigError(
                "a campaign must go on with the data and settings that it began with",
                was="others",
                where=str(folder),
                remedy="Choose another --name, or give the options of before",
            )
        begun = replace(begun, label=before.label)
        names = list(PHASES)
        for phase in before.phases:
            is_done = phase.state not in ("waiting", "running")
            if phase.name in names[names.index(until) + 1 :] and is_done:
                begun = begun.with_phase(phase)
        if any(begun.phase(name).state != "waiting" for name in ("full", "final")):
            begun = replace(begun, verdict=before.verdict, headline=before.headline)
    return begun


def _has_made_anything(request: CampaignRequest, workspace: Path) -> bool:
    """Tell whether one of this name stored bars or began a run: phases find those by name."""
    runs = (workspace / RUNS_FOLDER).glob(f"{request.run_name('*')}")
    return request.dataset in BarStore(workspace).names() or any(runs)


def _walk_phase(
    name: str,
    walk: CampaignWalk,
    board: StatusBoard,
    callbacks: CampaignCallbacks,
    gates: Sequence[Gate],
    benches: dict[str, float],
) -> PhaseRecord:
    began = time.monotonic()
    board.told = callbacks.progress(name)
    board.show(PhaseRecord(name, "running"))
    found = PHASES[name](walk)
    judged = () if found.left_out else _judge(found, GATES_OF[name], gates, benches)
    record = PhaseRecord(
        name=name,
        state="left out" if found.left_out else _state_of(judged),
        words=found.words,
        run=found.run,
        took_s=time.monotonic() - began,
        gates=judged,
    )
    board.show(record)
    if walk.data is not None and not board.status.label:
        board.change(label=walk.data.label)
    if found.memo is not None and name in ("full", "final"):
        board.change(verdict=found.memo.verdict, headline=found.memo.headline)
    callbacks.phase(record)
    return record


def _judge(
    found: PhaseFinding, phases: Sequence[str], gates: Sequence[Gate], benches: dict[str, float]
) -> tuple[GateResult, ...]:
    own = [gate for gate in gates if gate.phase in phases]
    if not own:
        return ()
    if found.dossier is not None:
        return judge_gates(found.dossier, own, benches)
    return judge_figures(found.figures, own, benches)


def _state_of(judged: Sequence[GateResult]) -> PhaseState:
    outcomes = {gate.outcome for gate in judged}
    if "fail" in outcomes:
        return "failed"
    return "passed" if "pass" in outcomes or not outcomes else "not measured"
