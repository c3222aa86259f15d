"""Runs all analyses of a dossier in order of dependencies; stored ones are not made again."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial

from tradingbot.evaluation.analyses.analysis import Analysis, Progress, ignore_progress
from tradingbot.evaluation.pipeline.context import (
    AnalysisTask,
    EvaluationContext,
    EvaluationJob,
    open_context,
)
from tradingbot.evaluation.pipeline.store import StoredAnalysis
from tradingbot.executors.executor import Executor, InlineExecutor, Work, WorkItem
from tradingbot.executors.processes import ProcessExecutor
from tradingbot.networks.threads import torch_threads
from tradingbot.plugins.loading import load_from_environment


def run_analyses(
    context: EvaluationContext,
    job: EvaluationJob,
    *,
    jobs: int = 1,
    progress: Progress = ignore_progress,
) -> dict[str, StoredAnalysis]:
    """Make what is missing.

    Args:
        context: Of this process.
        job: That workers open their own from.
        jobs: Processes; 1 makes everything in this one. Results do not depend on it.
        progress: Told (analyses finished, analyses in all, what is done now).

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
            executor: Executor = InlineExecutor(_work_of(context))
            if min(jobs, missing) > 1:
                workers = ProcessExecutor(partial(_open_work, job), min(jobs, missing))
                executor = stack.enter_context(workers)
            _make_missing(context, made, executor, progress)
    return {name: made.stored[name] for name in context.analyses}


def _open_work(job: EvaluationJob) -> Work:
    """Open the run in a worker, which has one torch thread."""
    import torch

    torch.set_num_threads(1)
    load_from_environment()
    return _work_of(open_context(job))


def _work_of(context: EvaluationContext) -> Work:
    """Return the function that makes analyses; they go to disk where they are made."""

    def make(task: AnalysisTask, progress: Progress) -> None:
        context.make(task, progress)

    return make


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

    def tell(finished: int, of: int, label: str) -> None:
        inside = f"{label} {finished}/{of}" if of else label
        progress(len(made.stored), total, inside)

    while len(made.stored) < total:
        ready = [
            analysis for analysis in _heaviest_first(context.analyses) if made.is_ready(analysis)
        ]
        for analysis in ready:
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


def _heaviest_first(analyses: Mapping[str, Analysis]) -> list[Analysis]:
    return sorted(analyses.values(), key=lambda analysis: -analysis.weight)
