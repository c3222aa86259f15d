"""One campaign from beginning to end, or from where it was killed.

Phases are walked in order. One with a gate that fails ends the campaign there, unless it is told to
go on; what was not measured does not. A kill costs what a training does after its last checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tradingbot.campaign.beginning import begin_campaign, write_asked
from tradingbot.campaign.phases import GATES_OF, PHASES, CampaignWalk, PhaseFinding
from tradingbot.campaign.report import write_report
from tradingbot.campaign.request import CampaignRequest
from tradingbot.campaign.status import (
    LOCK_FILE,
    CampaignStatus,
    PhaseRecord,
    PhaseState,
    StatusBoard,
)
from tradingbot.campaign.training_phase import PhaseTools
from tradingbot.data.atomic import require_no_links, storage_errors
from tradingbot.domain.errors import InterruptionError, UserError
from tradingbot.evaluation.gates.gate import Gate
from tradingbot.evaluation.gates.gates_file import load_gates, read_benches
from tradingbot.evaluation.gates.judging import judge_figures, judge_gates
from tradingbot.evaluation.gates.result import GateResult
from tradingbot.executors.executor import Progress, ignore_progress
from tradingbot.runs.lock import hold_lock


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
        begun, begun_with = begin_campaign(request, workspace, until)
        write_asked(request, folder)
        board = StatusBoard(folder, begun)
        tools = PhaseTools(workspace, board.progress, callbacks.note, callbacks.interrupted, jobs)
        walk = CampaignWalk(request, tools, begun_with=begun_with)
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
        except UserError as e:
            board.refuse(str(e))
            raise
        return WalkedCampaign(board.status, folder, write_report(folder, board.status, request))


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
    if walk.data is not None and board.status.label != walk.data.label:
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
