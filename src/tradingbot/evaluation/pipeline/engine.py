"""Runs all analyses of a dossier in order of dependencies; stored ones are not made again.

Every process that makes analyses opens a context of its own (the run, its analyses as a graph, and
their store) from the same `EvaluationJob`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.domain.errors import ConfigError, DataError, MissingExtraError
from tradingbot.evaluation.analyses.analysis import Analysis, AnalysisInputs
from tradingbot.evaluation.pipeline.analysis_names import OPTIONAL
from tradingbot.evaluation.pipeline.job import EvaluationJob
from tradingbot.evaluation.pipeline.store import AnalysisStore, StoredAnalysis, key_of
from tradingbot.executors.executor import Executor, InlineExecutor, Work, WorkItem
from tradingbot.executors.identity import require_same
from tradingbot.executors.workers import are_elsewhere, start_workers
from tradingbot.networks.threads import torch_threads
from tradingbot.plugins.loading import load_from_environment

if TYPE_CHECKING:
    from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun

_SHARED_PREFIX = "tradingbot-"


@dataclass(frozen=True)
class AnalysisTask:
    """One analysis to make now."""

    name: str
    key: str
    needs: tuple[tuple[str, str], ...]
    """Name and key of what it is made from; those that were left out as well."""
    facts: Any = None


@dataclass(frozen=True, eq=False)
class EvaluationContext:
    """Everything that is needed to make any analysis."""

    subject: EvaluatedRun
    analyses: Mapping[str, Analysis]
    """By name; every need comes before what needs it."""
    store: AnalysisStore
    identity: str
    """Hash of run, data and sources."""
    shared: Path | None = None
    """Of the `EvaluationJob`."""

    def require_possible(self, named: Sequence[str] = ()) -> None:
        """Refuse now what would else be refused when it is counted and much is made.

        Args:
            named: Analyses that must be possible, besides the required ones.

        Raises:
            UserError: If one of them is known to be impossible.
        """
        for analysis in self.analyses.values():
            if analysis.check is None or not (analysis.is_required or analysis.name in named):
                continue
            try:
                analysis.check()
            except (DataError, MissingExtraError) as e:
                if analysis.is_required:
                    raise
                raise impossible(analysis.name, str(e)) from e

    def task_of(self, analysis: Analysis, keys: Mapping[str, str]) -> AnalysisTask:
        """Return what is to be done for an analysis; its needs must have keys."""
        needs = tuple((name, keys[name]) for name in analysis.needs)
        facts = analysis.facts() if analysis.facts is not None else None
        key = key_of(self.identity, analysis.settings, facts, [key for _, key in needs])
        return AnalysisTask(analysis.name, key, needs, facts)

    def load(self, task: AnalysisTask) -> StoredAnalysis | None:
        """Return an analysis that was made before."""
        return self.store.load(task.name, task.key, self.analyses[task.name].record)

    def make(self, task: AnalysisTask, progress: Progress = ignore_progress) -> None:
        """Make an analysis and keep it on disk.

        Raises:
            UserError: If it cannot be made and there is no dossier without it.
        """
        analysis = self.analyses[task.name]
        results, left_out = self._results(task.needs)
        inputs = AnalysisInputs(self.subject, results, left_out, task.facts, progress, self.shared)
        try:
            stored = StoredAnalysis(analysis.measure(inputs))
        except (DataError, MissingExtraError) as e:
            if analysis.is_required:
                raise
            stored = StoredAnalysis(None, str(e))
        self.store.keep(task.name, task.key, stored)

    def _results(self, needs: Sequence[tuple[str, str]]) -> tuple[dict[str, Any], dict[str, str]]:
        results, left_out = dict[str, Any](), dict[str, str]()
        for name, key in needs:
            stored = self.store.load(name, key, self.analyses[name].record)
            # It was there a moment ago: one evaluation at a time writes to a folder.
            assert stored is not None, f"{name} is gone"
            if stored.reason:
                left_out[name] = stored.reason
            else:
                results[name] = stored.record
        return results, left_out


def impossible(name: str, reason: str) -> DataError:
    """Return the refusal of an analysis that was asked for by name."""
    return DataError(
        f"analysis {name} must be possible where it is asked for by name", was=reason.rstrip(".")
    )


def open_context(job: EvaluationJob) -> EvaluationContext:
    """Open the run and lay out its analyses.

    Raises:
        UserError: If the run cannot be evaluated, or a setting does not fit it.
    """
    from tradingbot.evaluation.analyses.evaluated_run import open_evaluated_run
    from tradingbot.evaluation.pipeline.catalogue import lay_out_analyses
    from tradingbot.evaluation.pipeline.receipts import receipts_of
    from tradingbot.evaluation.pipeline.store import run_identity

    subject = open_evaluated_run(job.run, job.workspace)
    analyses = lay_out_analyses(subject, job.config)
    return EvaluationContext(
        subject=subject,
        analyses={analysis.name: analysis for analysis in analyses},
        store=AnalysisStore(job.folder, receipts_of(subject.run, job.workspace)),
        identity=run_identity(subject),
        shared=job.shared,
    )


def stored_names(job: EvaluationJob) -> tuple[str, ...]:
    """Return the optional analyses that were made before under the same settings."""
    try:
        context = open_context(replace(job, config=replace(job.config, analyses=OPTIONAL)))
    except ConfigError:  # settings of an analysis that was not asked for do not fit the run
        return ()
    made = _StoredResults(context)
    made.take_from_store()
    return tuple(name for name in OPTIONAL if name in made.stored)


def run_analyses(
    context: EvaluationContext,
    job: EvaluationJob,
    *,
    jobs: int = 1,
    progress: Progress = ignore_progress,
    lost: Callable[[int], None] = lambda _: None,
) -> dict[str, StoredAnalysis]:
    """Make what is missing.

    Args:
        context: Of this process.
        job: That workers open their own from.
        jobs: Processes; 1 makes everything in this one. Results do not depend on it.
        progress: Told (analyses finished, analyses in all, what is done now).
        lost: Told how many workers were lost and replaced.

    Returns:
        Name → what was kept, of every analysis, in the order of the context.

    Raises:
        UserError: If an analysis without which there is no dossier cannot be made.
        RuntimeError: If making an analysis failed.
    """
    made = _StoredResults(context)
    made.take_from_store()
    missing = len(context.analyses) - len(made.stored)
    with ExitStack() as stack:
        if missing:
            stack.enter_context(torch_threads(1))
            # Workers of another machine see what lies beside the run.
            place = job.folder.absolute().parent if are_elsewhere() else None
            temporary = TemporaryDirectory(prefix=_SHARED_PREFIX, dir=place)
            shared = Path(stack.enter_context(temporary))
            context, job = replace(context, shared=shared), replace(job, shared=shared)
            executor: Executor = InlineExecutor(context.make)
            if are_elsewhere() or min(jobs, missing) > 1:
                opening = partial(_open_work, job.as_seen_elsewhere(), context.identity)
                executor = stack.enter_context(start_workers(opening, min(jobs, missing)))
            _make_missing(context, made, executor, progress)
            lost(executor.n_lost)
    return {name: made.stored[name] for name in context.analyses}


def _open_work(job: EvaluationJob, identity: str) -> Work:
    """Open the run in a worker, which has one torch thread.

    Raises:
        DataError: If it is not the same run, data, configuration and sources there.
    """
    import torch

    torch.set_num_threads(1)
    load_from_environment()
    context = open_context(job)
    require_same(context.identity, identity, job.run)
    return context.make


class _StoredResults:
    """What there is so far."""

    def __init__(self, context: EvaluationContext) -> None:
        self.context = context
        self.stored: dict[str, StoredAnalysis] = {}
        self.keys: dict[str, str] = {}

    def take_from_store(self) -> None:
        """Take what was made before, as far as needs are there."""
        for analysis in self.context.analyses.values():
            if self.is_ready(analysis):
                self.take(self.context.task_of(analysis, self.keys))

    def take(self, task: AnalysisTask) -> bool:
        """Take one analysis from the store; false where it is not there."""
        stored = self.context.load(task)
        if stored is None:
            return False
        self.stored[task.name], self.keys[task.name] = stored, task.key
        return True

    def is_ready(self, analysis: Analysis) -> bool:
        """Tell whether it is still to be made, and everything that it needs is there."""
        return analysis.name not in self.stored and all(
            name in self.stored for name in analysis.needs
        )


def _make_missing(
    context: EvaluationContext, made: _StoredResults, executor: Executor, progress: Progress
) -> None:
    total, begun = len(context.analyses), set[str]()
    heaviest_first = sorted(context.analyses.values(), key=lambda analysis: -analysis.weight)

    def tell(finished: int, of: int, label: str) -> None:
        inside = f"{label} {finished}/{of}" if of else label
        progress(len(made.stored), total, inside)

    while len(made.stored) < total:
        for analysis in [each for each in heaviest_first if made.is_ready(each)]:
            if analysis.name in begun or not executor.n_free:
                continue
            task = context.task_of(analysis, made.keys)
            if made.take(task):  # it became known only now that it is there
                break
            begun.add(analysis.name)
            executor.submit(WorkItem(f"analysis {task.name}", task))
            tell(0, 0, analysis.name)
        else:
            outcome = executor.wait(tell)
            outcome.result()
            task = outcome.item.payload
            taken = made.take(task)
            assert taken, task.name
            tell(0, 0, task.name)
