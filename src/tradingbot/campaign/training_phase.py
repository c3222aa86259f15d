"""Phases that train: a run of a fixed name, begun, resumed or found finished; and its dossier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tradingbot.domain.errors import InterruptionError
from tradingbot.domain.events.event import Event, EventCallback
from tradingbot.domain.events.training import Updated
from tradingbot.evaluation.pipeline.config import EvaluateConfig
from tradingbot.evaluation.pipeline.session import (
    Evaluation,
    EvaluationRequest,
    evaluate_run,
    find_evaluation,
)
from tradingbot.executors.executor import Progress
from tradingbot.runs import RunDirectory
from tradingbot.training.config import TrainConfig
from tradingbot.training.named_run import train_named
from tradingbot.training.result_file import TrainResult
from tradingbot.training.session import SessionCallbacks


@dataclass(frozen=True)
class PhaseTools:
    """What phases report to, and who may stop them."""

    workspace: Path
    progress: Progress
    note: Callable[[str], None]
    interrupted: Callable[[], bool]
    jobs: int = 1

    def stoppable(self, work: str) -> Progress:
        """Return the progress of work that is to end where a stop is asked for; it is repeated."""

        def tell(done: int, total: int, label: str) -> None:
            if self.interrupted():
                raise InterruptionError(work)
            self.progress(done, total, label)

        return tell


def train_run(name: str, config: TrainConfig, tools: PhaseTools) -> TrainResult:
    """Train a run to its end, from wherever it is.

    Raises:
        ConfigError: If a run of this name has other settings or learned from other data.
        InterruptionError: If it was interrupted; what it did is in its checkpoints.
        UserError: If anything else is not as it must be.
    """
    return train_named(name, config, tools.workspace, session_callbacks(config, tools))[1]


def evaluate_phase(
    name: str, config: EvaluateConfig, gates: str, command: str, tools: PhaseTools
) -> Evaluation:
    """Make the dossier of a run, or what is missing of it.

    Raises:
        InterruptionError: If it was interrupted.
        UserError: If the run cannot be evaluated.
    """
    request = EvaluationRequest(run=name, config=config, gates=gates, command=command)
    found = find_evaluation(request, tools.workspace)
    if found is not None:  # trials that were counted since do not change what was judged
        return found
    # What is finished when it stops is kept by the evaluation itself.
    return evaluate_run(request, tools.workspace, jobs=tools.jobs, progress=tools.stoppable(name))


@dataclass
class _StepsTold:
    """Tells how far a training is."""

    total: int
    progress: Progress

    def take(self, event: Event) -> None:
        """Report the steps of an update."""
        if isinstance(event, Updated):
            self.progress(min(event.steps, self.total), self.total, "training, step")

    def close(self) -> None:
        """Do nothing: it holds nothing open."""


def session_callbacks(config: TrainConfig, tools: PhaseTools) -> SessionCallbacks:
    """Return what a training of a phase reports to."""

    def listeners(run: RunDirectory, config: TrainConfig) -> Sequence[EventCallback]:
        from tradingbot.training.tracking import tracking_callbacks

        told = _StepsTold(config.budget.steps_per_agent, tools.progress)
        return (told, *tracking_callbacks(run, config, note=tools.note))

    return SessionCallbacks(
        event_callbacks=listeners,
        note=tools.note,
        preparing=lambda stage, done, total: tools.progress(done, total, stage),
        interrupted=tools.interrupted,
    )
