"""One training run from beginning to end, or from where it was interrupted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from torch import Tensor

from tradingbot.app.training.config_files import config_of_mapping
from tradingbot.app.training.configuration import TrainConfig
from tradingbot.app.training.data import TrainingData, halves, open_data
from tradingbot.app.training.keeper import Keeper, stored_encoder
from tradingbot.app.training.results import TrainResult, judge_result, store_result
from tradingbot.app.training.sinks import Broadcast, Sink
from tradingbot.app.training.wiring import (
    Wired,
    choose_device,
    part_task,
    scores_on,
    torch_threads,
    wire,
)
from tradingbot.domain.errors import StorageError, TrainingError
from tradingbot.learning.guards import FlightRecorder
from tradingbot.learning.learner import Metrics
from tradingbot.learning.trainer import Trainer
from tradingbot.learning.trainer_events import Ended, Hooks
from tradingbot.learning.trainer_tensors import copied_tensors
from tradingbot.runs import RunDirectory, RunPlan, final_hash, find_run
from tradingbot.runs.environment import describe_environment, git_state, source_sha256
from tradingbot.runs.record import RunState
from tradingbot.runs.resuming import ResumePoint, resume_run

RUNS_FOLDER = "runs"


@dataclass(frozen=True)
class Listeners:
    """Who is told what while a run goes on."""

    sinks: Callable[[RunDirectory, TrainConfig], Sequence[Sink]] = lambda _run, _config: ()
    note: Callable[[str], None] = lambda _: None
    """Told in words what is done now."""
    pretraining: Callable[[int, int], None] = lambda _done, _total: None
    interrupted: Callable[[], bool] = lambda: False


@dataclass(frozen=True, eq=False)
class SessionResult:
    """What came of it."""

    run: RunDirectory
    ended: Ended
    result: TrainResult | None
    """None where the run was interrupted."""


def begin_run(
    config: TrainConfig,
    workspace: Path,
    listeners: Listeners | None = None,
    *,
    name: str | None = None,
) -> SessionResult:
    """Train a new run.

    Raises:
        UserError: If anything about data, configuration, device or disk is not as it must be.
    """
    listeners = listeners or Listeners()
    choose_device(config.device)
    listeners.note("open the data")
    data = open_data(config, workspace)
    with torch_threads(config.threads):
        plan = _plan_of(config, data)
        run = RunDirectory.create(
            workspace / RUNS_FOLDER, plan, created_at=datetime.now(UTC), name=name
        )
        with run.hold():
            return _train(run, config, data, None, listeners)


def resume_session(
    reference: str,
    workspace: Path,
    listeners: Listeners | None = None,
    *,
    change: Callable[[TrainConfig], TrainConfig] = lambda config: config,
    force: bool = False,
) -> SessionResult:
    """Go on with a run where its newest whole checkpoint is.

    Args:
        reference: Id of the run, the beginning of it, or its folder.
        workspace: Where runs are.
        listeners: Who is told.
        change: What to do to the run's own configuration; what differs then is refused.
        force: Accept what differs, and record it.

    Raises:
        ConfigError: If the run is in use, or configuration, data or code differ.
        UserError: If anything else is not as it must be.
    """
    listeners = listeners or Listeners()
    run = find_run(workspace / RUNS_FOLDER, reference)
    config = change(config_of_mapping(run.record.config))
    choose_device(config.device)
    with run.hold(), torch_threads(config.threads):
        listeners.note("open the data")
        data = open_data(config, workspace)
        plan = replace(_plan_of(config, data), seed=config.seed)
        point = resume_run(run, plan, at=datetime.now(UTC), force=force)
        for reason in (*point.skipped, *point.forced):
            listeners.note(f"passed over: {reason}")
        return _train(run, config, data, point, listeners)


def _plan_of(config: TrainConfig, data: TrainingData) -> RunPlan:
    return RunPlan(
        learner=config.learner.name,
        config=config.as_mapping(),
        data=data.identity,
        code_sha256=source_sha256(),
        seed=config.seed,
        environment=describe_environment(str(choose_device(config.device))),
        git=git_state(),
    )


def _train(
    run: RunDirectory,
    config: TrainConfig,
    data: TrainingData,
    point: ResumePoint | None,
    listeners: Listeners,
) -> SessionResult:
    def report(done: int, _: Metrics) -> None:
        listeners.pretraining(done, config.pretraining.updates)

    seed = run.record.seeds["root"]
    listeners.note(f"run {run.id}, seed {seed}")
    wired = wire(config, data, seed=seed, encoder_weights=stored_encoder(point), report=report)
    with ExitStack() as stack:
        keeper = Keeper(run, point)
        stack.callback(keeper.close)
        keeper.keep_for(wired.learner.networks(), wired.encoder, data.normaliser)
        told = Broadcast((keeper, *listeners.sinks(run, config)))
        stack.callback(told.close_others)
        trainer = _trainer(config, data, wired, keeper, told, listeners)
        if point is not None and point.checkpoint is not None:
            trainer.load(point.checkpoint.training)
        ended = _run_trainer(trainer, run)
    if ended.ending == "interrupted":
        status = run.status()
        run.write_status(
            "interrupted", at=datetime.now(UTC), update=status.update, steps=ended.steps
        )
        return SessionResult(run, ended, None)
    listeners.note("judge the best weights on validation and test")
    result = _judge(config, data, wired, trainer, keeper, ended)
    listeners.note(f"validation decided: {result.decision}")
    return SessionResult(run, ended, result)


def _trainer(
    config: TrainConfig,
    data: TrainingData,
    wired: Wired,
    keeper: Keeper,
    told: Broadcast,
    listeners: Listeners,
) -> Trainer:
    learner = wired.learner
    choosing, _ = halves(data.split.validation)
    validation = part_task(wired, data, choosing)  # built once: a GPU compiles it

    def evaluate() -> dict[str, Tensor]:
        return scores_on(validation, learner, data.bars_per_year)

    recorder = FlightRecorder(learner.task, config.guards, write=keeper.record)
    hooks = Hooks(evaluate, keeper.save, keeper.load_healthy, told.take, listeners.interrupted)
    return Trainer(learner, config.plan, hooks, recorder)


def _run_trainer(trainer: Trainer, run: RunDirectory) -> Ended:
    try:
        return trainer.run()
    except (TrainingError, StorageError) as e:
        # A disk that refuses checkpoints may refuse this too; the first reason is the one to tell.
        state: RunState = "halted" if isinstance(e, TrainingError) else "failed"
        status = run.status()
        try:
            run.write_status(
                state,
                at=datetime.now(UTC),
                update=status.update,
                steps=status.steps,
                reason=str(e),
            )
        except StorageError:
            raise e from None
        raise


def _judge(
    config: TrainConfig,
    data: TrainingData,
    wired: Wired,
    trainer: Trainer,
    keeper: Keeper,
    ended: Ended,
) -> TrainResult:
    """Judge the best weights, and keep what was judged and what came of it."""
    run, status = keeper.run, keeper.run.status()
    final_sha256 = final_hash(copied_tensors(wired.learner.networks()))
    result = judge_result(
        wired, data, trainer, run, final_sha256=final_sha256, shrinks=config.validation.shrink
    )
    manifest = keeper.save_judged(result.trading_agents, ended)
    result = replace(result, weights_sha256=manifest.weights_sha256, caveat=data.caveat)
    store_result(run, result)
    run.write_status("finished", at=datetime.now(UTC), update=status.update, steps=ended.steps)
    return result
