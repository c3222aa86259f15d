"""One evaluation from beginning to end: analyses, dossier, memo, files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from tradingbot import __version__
from tradingbot.data.atomic import require_no_links, storage_errors
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.domain.errors import MissingExtraError, UserError
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.gates_file import foreign_source, load_gates
from tradingbot.evaluation.gates.memo import write_memo
from tradingbot.evaluation.gates.result import Memo
from tradingbot.evaluation.pipeline.analysis_names import OPTIONAL
from tradingbot.evaluation.pipeline.assembly import assemble_dossier
from tradingbot.evaluation.pipeline.config import EvaluateConfig
from tradingbot.evaluation.pipeline.engine import (
    EvaluationContext,
    impossible,
    open_context,
    run_analyses,
    stored_names,
)
from tradingbot.evaluation.pipeline.job import EvaluationJob
from tradingbot.evaluation.pipeline.store import StoredAnalysis
from tradingbot.evaluation.pipeline.stored_dossier import (
    DOSSIER_FILE,
    EVALUATION_FOLDER,
    as_noted_before,
    note_dossier,
    read_noted_dossier,
    store_page,
)
from tradingbot.evaluation.pipeline.stored_power import power_words
from tradingbot.evaluation.tables import write_tables
from tradingbot.runs import RunDirectory, find_run
from tradingbot.runs.lock import hold_lock
from tradingbot.runs.requirement import installed_version
from tradingbot.training.session import RUNS_FOLDER
from tradingbot.training.trial_ledger import count_evaluation, data_key, require_counted

ANALYSES_FOLDER, LOCK_FILE = "analyses", "lock"
_PAGE_PACKAGE = "jinja2"
"""What writes the page."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Result of an evaluation: dossier, memo and files."""

    dossier: Dossier
    memo: Memo
    folder: Path
    """Where JSON, tables and page are."""
    page: Path

    def __repr__(self) -> str:
        """Say the verdict, not the whole dossier."""
        word = ", synthetic" if self.dossier.header.synthetic else ""
        verdict = f"{self.memo.verdict}: {self.memo.headline}"
        return f"<Evaluation of {self.dossier.header.run}{word}: {verdict}>"


@dataclass(frozen=True)
class EvaluationRequest:
    """Which run to evaluate, and how."""

    run: str
    """Id of the run, the beginning of it, or its folder."""
    config: EvaluateConfig
    gates: str = "product"
    """Gates that come with the package, or a file."""
    must_have: tuple[str, ...] = ()
    """Analyses that were named one by one: without one of them there is no evaluation."""
    command: str = ""
    """Reproduces the dossier."""
    out: Path | None = None
    """Folder for the results; `evaluation` of the run's by default."""


def evaluate_run(
    request: EvaluationRequest,
    workspace: Path,
    *,
    jobs: int = 1,
    progress: Progress = ignore_progress,
) -> Evaluation:
    """Evaluate a finished run; what is there of an earlier evaluation is not made again.

    What can be refused from run and settings alone is refused before the ledger counts anything.

    Args:
        request: What is wanted.
        workspace: Where runs and data are.
        jobs: Processes.
        progress: Told (analyses finished, analyses in all, what is done now).

    Raises:
        UserError: If the run cannot be evaluated, another process evaluates it now, or a required
            analysis cannot be made.
    """
    load_gates(request.gates)  # refused now, not after an hour
    if installed_version(_PAGE_PACKAGE) is None:
        raise MissingExtraError("plot", package=_PAGE_PACKAGE)
    run = find_run(workspace / RUNS_FOLDER, request.run)
    own, job = run.path / EVALUATION_FOLDER, _job_of(run, workspace, request.config)
    context = open_context(job)
    context.require_possible(request.must_have)
    folder = request.out or own
    for place in (run.path, own):
        require_no_links(place)
    for place in (own, folder):
        with storage_errors(place):
            place.mkdir(parents=True, exist_ok=True)
    with hold_lock(own / LOCK_FILE, "evaluation"):
        _count(context, workspace)
        lost: list[int] = []
        analyses = run_analyses(context, job, jobs=jobs, progress=progress, lost=lost.append)
        _require_named(analyses, request.must_have)
        dossier = assemble_dossier(
            context.subject,
            request.config,
            analyses,
            command=request.command,
            evaluated_at=datetime.now(UTC),
            workers_lost=sum(lost),
        )
        is_own = folder.resolve() == own.resolve()  # what `tradingbot gates` will read
        dossier = as_noted_before(dossier, run, workspace) if is_own else dossier
        found = _write(dossier, request, run, workspace, folder)
        if is_own:
            note_dossier(folder / DOSSIER_FILE, run, workspace, at=datetime.now(UTC))
        return found


def find_evaluation(request: EvaluationRequest, workspace: Path) -> Evaluation | None:
    """Return what the same command made of the run before, as it was then; None: nothing yet.

    Trials that the ledger counted since are not in it: `evaluate_run` makes it with them.

    Raises:
        UserError: If the run or its ledger is not whole, or the gates cannot be read.
    """
    run = find_run(workspace / RUNS_FOLDER, request.run)
    require_counted(run, workspace)
    folder = run.path / EVALUATION_FOLDER
    for place in (run.path, folder):
        require_no_links(place)
    try:
        dossier = read_noted_dossier(run, workspace)
    except UserError:  # none, or not the one that was noted
        return None
    made = dossier.header
    if (made.command, made.version) != (request.command, __version__):
        return None
    with hold_lock(folder / LOCK_FILE, "evaluation"):
        return _write(dossier, request, run, workspace, folder)


def _write(
    dossier: Dossier, request: EvaluationRequest, run: RunDirectory, workspace: Path, folder: Path
) -> Evaluation:
    """Judge a dossier, and write it with its tables and page."""
    gates, source = load_gates(request.gates), foreign_source(request.gates)
    memo = write_memo(dossier, gates, source=source, power=power_words(run, workspace))
    write_tables(dossier, memo, folder)
    return Evaluation(dossier, memo, folder, store_page(folder, dossier, memo))


def with_stored(run: str, workspace: Path, config: EvaluateConfig) -> EvaluateConfig:
    """Return an evaluation that keeps what the run's earlier ones made under the same settings."""
    stored = stored_names(_job_of(find_run(workspace / RUNS_FOLDER, run), workspace, config))
    names = tuple(name for name in OPTIONAL if name in {*config.analyses, *stored})
    return replace(config, analyses=names)


def _job_of(run: RunDirectory, workspace: Path, config: EvaluateConfig) -> EvaluationJob:
    folder = run.path / EVALUATION_FOLDER / ANALYSES_FOLDER
    return EvaluationJob(str(run.path), workspace, config, folder)


def _count(context: EvaluationContext, workspace: Path) -> None:
    """Count the evaluation, once for the same weights, data, settings and sources."""
    run = context.subject.run
    require_counted(run, workspace)
    key = context.task_of(context.analyses["performance"], {}).key
    data, now = data_key(run.record.data), datetime.now(UTC)
    count_evaluation(run.id, workspace, run.path, data=data, config_hash=key, at=now)


def _require_named(analyses: dict[str, StoredAnalysis], names: tuple[str, ...]) -> None:
    for name in names:
        if analyses[name].reason:
            raise impossible(name, analyses[name].reason)
