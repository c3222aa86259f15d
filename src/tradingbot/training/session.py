"""One training run from beginning to end, or from where it was interrupted."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from torch import Tensor

from tradingbot.domain.errors import ConfigError, InterruptionError
from tradingbot.domain.events.event import CallbackList
from tradingbot.domain.events.training import Ended
from tradingbot.learning.device import within_memory
from tradingbot.learning.guards import FlightRecorder
from tradingbot.learning.learner import Metrics
from tradingbot.learning.trainer import Trainer
from tradingbot.learning.trainer_hooks import Hooks
from tradingbot.learning.trainer_tensors import copied_tensors
from tradingbot.networks.threads import torch_threads
from tradingbot.runs import RunDirectory, final_hash, find_run, list_checkpoints
from tradingbot.runs.ledger import Ledger
from tradingbot.runs.loading import labels_of
from tradingbot.runs.manifest import CheckpointManifest
from tradingbot.runs.record import draw_seed
from tradingbot.runs.resuming import ResumePoint, resume_run
from tradingbot.training import own_dataset
from tradingbot.training.agent_scores import choosing_bars, scores_on
from tradingbot.training.checkpoint_writer import (
    CheckpointWriter,
    failures_recorded,
    stored_encoder,
)
from tradingbot.training.conclusion import conclude_training
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.encoder_transfer import open_transfer, transfer_words
from tradingbot.training.plugins import require_plugins, with_plugins
from tradingbot.training.preparation import prepare, restore
from tradingbot.training.result_file import TrainResult
from tradingbot.training.results import judge_result
from tradingbot.training.run_plan import plan_run
from tradingbot.training.run_policy import describe_acting
from tradingbot.training.session_callbacks import SessionCallbacks
from tradingbot.training.setup import TrainingSetup, build_training_setup, choose_device
from tradingbot.training.trial_ledger import count_training

RUNS_FOLDER = "runs"
__all__ = ["RUNS_FOLDER", "SessionCallbacks", "SessionResult", "begin_run", "resume_session"]


@dataclass(frozen=True, eq=False)
class SessionResult:
    """Result of a training session."""

    run: RunDirectory
    ended: Ended
    result: TrainResult | None
    """None where the run was interrupted."""


@dataclass(frozen=True, eq=False)
class _Work:
    """What a session trains."""

    config: TrainConfig
    data: TrainingData
    setup: TrainingSetup
    workspace: Path
    encoder_of: str | None = None
    """Run and checkpoint whose encoder it began with."""
    point: ResumePoint | None = None

    @property
    def caveat(self) -> str:
        """What every figure is to be read with."""
        transfer = transfer_words(self.encoder_of) if self.encoder_of else ""
        return " ".join(words for words in (self.data.caveat, transfer) if words)


def begin_run(
    config: TrainConfig,
    workspace: Path,
    callbacks: SessionCallbacks | None = None,
    *,
    name: str | None = None,
) -> SessionResult:
    """Train a new run; it has a folder only when everything was found to be as it must be.

    Raises:
        UserError: If anything about data, configuration, device or disk is not as it must be.
        InterruptionError: If it was interrupted before the run had a folder.
    """
    callbacks, config = callbacks or SessionCallbacks(), with_plugins(config)
    choose_device(config.device)
    callbacks.note("open the data")
    data = open_data(config, workspace)
    seed = draw_seed() if config.seed is None else config.seed
    with torch_threads(config.threads):
        transfer = open_transfer(config, data.identity.feature_ids, workspace / RUNS_FOLDER)
        asked = callbacks.interrupted
        setup = build_training_setup(config, data, seed=seed, transfer=transfer, interrupted=asked)
        plan = replace(
            plan_run(config, data),
            seed=seed,
            seed_was_drawn=config.seed is None,
            parent=transfer.source if transfer else None,
            parameters=asdict(setup.parameters),
        )
        Ledger(workspace).require_whole()  # refused before the run has a name and a folder
        root, now = workspace / RUNS_FOLDER, datetime.now(UTC)
        run = RunDirectory.create(root, plan, created_at=now, name=name)
        with run.hold(), failures_recorded(run):
            return _train(run, _Work(config, data, setup, workspace, plan.parent), callbacks)


def resume_session(
    reference: str,
    workspace: Path,
    callbacks: SessionCallbacks | None = None,
    *,
    change: Callable[[TrainConfig], TrainConfig] = lambda config: config,
    force: bool = False,
) -> SessionResult:
    """Go on with a run where its newest whole checkpoint is.

    Args:
        reference: Id of the run, the beginning of it, or its folder.
        workspace: Where runs are.
        callbacks: Called while the run goes on.
        change: What to do to the run's own configuration; what differs then is refused.
        force: Accept what differs, and record it.

    Raises:
        ConfigError: If it is in use, anything differs, or its training has ended and is to go on.
        UserError: If anything else is not as it must be.
    """
    callbacks = callbacks or SessionCallbacks()
    run = find_run(workspace / RUNS_FOLDER, reference)
    own = config_of_mapping(run.record.config, run.record.tracking)
    config = change(own)
    require_plugins(config)
    choose_device(config.device)
    with run.hold(), torch_threads(config.threads):
        _refuse_another_budget(run, own, config)
        callbacks.note("open the data")
        data = own_dataset.open_own_data(config, run, workspace)
        plan = replace(plan_run(config, data), seed=config.seed)
        point = resume_run(run, plan, at=datetime.now(UTC), force=force)
        for reason in (*point.skipped, *point.forced):
            callbacks.note(f"passed over: {reason}")
        with failures_recorded(run):
            try:
                setup = _assemble_again(run, config, data, point, workspace, callbacks.interrupted)
            except InterruptionError:
                return _stop_early(run)
            encoder_of = run.record.parent if config.encoder.transfer_from else None
            work = _Work(config, data, setup, workspace, encoder_of, point)
            return _train(run, work, callbacks)


def _assemble_again(
    run: RunDirectory,
    config: TrainConfig,
    data: TrainingData,
    point: ResumePoint,
    workspace: Path,
    interrupted: Callable[[], bool],
) -> TrainingSetup:
    """Build what a run goes on with; what a checkpoint holds is not fetched from elsewhere."""
    begins, features = point.checkpoint is None, data.identity.feature_ids
    transfer = open_transfer(config, features, workspace / RUNS_FOLDER) if begins else None
    seed = run.record.seeds["root"]
    return build_training_setup(
        config, data, seed=seed, transfer=transfer, begins=begins, interrupted=interrupted
    )


def _refuse_another_budget(run: RunDirectory, own: TrainConfig, config: TrainConfig) -> None:
    """Refuse to train on where training has ended: schedules have, and test was looked at."""
    was, wanted = own.budget.steps_per_agent, config.budget.steps_per_agent
    has_ended = any("final" in labels_of(folder) for folder in list_checkpoints(run))
    if has_ended and was != wanted:
        raise ConfigError(
            "training that has ended must keep its budget: its schedules ended with it",
            was=f"budget.steps_per_agent: {was} → {wanted}",
            where=run.id,
            remedy="Train a new run with that budget; the same seed begins in the same way",
        )


def _train(run: RunDirectory, work: _Work, callbacks: SessionCallbacks) -> SessionResult:
    _introduce(run, work, callbacks)
    trial = count_training(run, work.workspace, at=datetime.now(UTC))
    with within_memory(work.setup.device), ExitStack() as stack:
        writer = CheckpointWriter(run, work.point)
        stack.callback(writer.close)
        acting = describe_acting(work.config, work.data)
        writer.save_networks_of(work.setup.acting_networks, work.data.normaliser, acting)
        if not _ready(work, writer, callbacks):
            return _stop_early(run)
        with ExitStack() as watched:
            told = CallbackList((writer, *callbacks.event_callbacks(run, work.config)))
            watched.callback(told.close_others)
            trainer = _trainer(work, writer, told, callbacks)
            if work.point is not None and work.point.checkpoint is not None:
                trainer.load(work.point.checkpoint.training)
            ended = trainer.run()
        if ended.ending == "interrupted":
            return _interrupted(run, ended)
        callbacks.note("judge the best weights on validation and test")
        try:  # its figures are made again where it is resumed
            with callbacks.at_once():
                result, selected = _judge(work, trainer, writer, ended)
        except InterruptionError:
            return _interrupted(run, ended)
    per_year, now = work.data.bars_per_year, datetime.now(UTC)
    conclude_training(
        trial, run, work.workspace, result, selected=selected, bars_per_year=per_year, at=now
    )
    callbacks.note(f"what is kept: {result.decision}")
    callbacks.finished(run, work.config)
    return SessionResult(run, ended, result)


def _introduce(run: RunDirectory, work: _Work, callbacks: SessionCallbacks) -> None:
    callbacks.note(f"run {run.id}, seed {run.record.seeds['root']}")
    for part, period in work.data.periods.items():
        callbacks.note(f"{part}: {period}")
    parameters = work.setup.parameters
    callbacks.note(parameters.words)
    for complaint in parameters.complaints():
        callbacks.note(f"over the budget of parameters: {complaint}")
    if work.encoder_of is not None:
        callbacks.note(transfer_words(work.encoder_of))


def _ready(work: _Work, writer: CheckpointWriter, callbacks: SessionCallbacks) -> bool:
    """Prepare, or take what a checkpoint holds; return whether it was not interrupted."""

    def report(stage: str, done: int, total: int, metrics: Metrics) -> None:
        writer.prepared(stage, done, metrics)
        callbacks.preparing(stage, done, total)

    if work.point is None or work.point.checkpoint is None:
        return prepare(work.setup, work.workspace, report, callbacks.interrupted)
    restore(work.setup, stored_encoder(work.point) or {}, work.workspace)
    return True


def _stop_early(run: RunDirectory) -> SessionResult:
    """Record that a session was interrupted before its first update."""
    return _interrupted(run, Ended(0, run.status().steps, "interrupted", -math.inf, 0))


def _interrupted(run: RunDirectory, ended: Ended) -> SessionResult:
    update = run.status().update
    run.write_status("interrupted", at=datetime.now(UTC), update=update, steps=ended.steps)
    return SessionResult(run, ended, None)


def _trainer(
    work: _Work, writer: CheckpointWriter, told: CallbackList, callbacks: SessionCallbacks
) -> Trainer:
    learner = work.setup.learner

    def evaluate() -> dict[str, Tensor]:
        return scores_on(choosing_bars(work.data), work.setup, work.data)

    recorder = FlightRecorder(learner.task, work.config.guards, write=writer.record)
    saving = (writer.save, writer.load_healthy, told.take, callbacks.interrupted)
    hooks = Hooks(evaluate, *saving, work.setup.teach_sleeves(told.take))
    return Trainer(learner, work.config.plan, hooks, recorder)


def _judge(
    work: _Work, trainer: Trainer, writer: CheckpointWriter, ended: Ended
) -> tuple[TrainResult, CheckpointManifest]:
    """Select from the best weights, and store the selected policy; return its result with it."""
    final, shrinks = copied_tensors(work.setup.learner.networks()), work.config.validation.shrink
    result = judge_result(
        work.setup, work.data, trainer, writer.run, final_sha256=final_hash(final), shrinks=shrinks
    )
    selected = writer.save_selected(result.trading_agents, ended)
    result = replace(result, weights_sha256=selected.weights_sha256, caveat=work.caveat)
    return result, selected
