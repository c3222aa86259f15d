"""Context of an evaluation: the run, its analyses as a graph, and their store.

Every process that makes analyses opens a context of its own from the same `EvaluationJob`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tradingbot.domain.errors import DataError, MissingExtraError
from tradingbot.evaluation.analyses.analysis import (
    Analysis,
    AnalysisInputs,
    Progress,
    ignore_progress,
)
from tradingbot.evaluation.pipeline.config import EvaluateConfig
from tradingbot.evaluation.pipeline.store import AnalysisStore, StoredAnalysis, key_of

if TYPE_CHECKING:
    from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun


@dataclass(frozen=True)
class EvaluationJob:
    """What is to be evaluated, where and how; plain values that any process can be told."""

    run: str
    """Id of the run, the beginning of it, or its folder."""
    workspace: Path
    config: EvaluateConfig
    folder: Path
    """Where analyses go."""


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

    def make(self, task: AnalysisTask, progress: Progress = ignore_progress) -> StoredAnalysis:
        """Make an analysis and keep it.

        Raises:
            UserError: If it cannot be made and there is no dossier without it.
        """
        analysis = self.analyses[task.name]
        results, left_out = self._results(task.needs)
        inputs = AnalysisInputs(self.subject, results, left_out, task.facts, progress)
        try:
            stored = StoredAnalysis(analysis.measure(inputs))
        except (DataError, MissingExtraError) as e:
            if analysis.is_required:
                raise
            stored = StoredAnalysis(None, str(e))
        self.store.keep(task.name, task.key, stored)
        return stored

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
    from tradingbot.evaluation.pipeline.identity import run_identity
    from tradingbot.evaluation.pipeline.receipts import receipts_of

    subject = open_evaluated_run(job.run, job.workspace)
    analyses = lay_out_analyses(subject, job.config, job.workspace)
    return EvaluationContext(
        subject=subject,
        analyses={analysis.name: analysis for analysis in analyses},
        store=AnalysisStore(job.folder, receipts_of(subject.run, job.workspace)),
        identity=run_identity(subject),
    )
