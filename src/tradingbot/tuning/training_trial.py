"""One trial: the product's own training on the first half of validation, given up where it is poor.

Learner, trainer, guards and scores are those of `tradingbot train`; nothing of it is kept on disk
but its learning curve. Neither the second half of validation nor the test part is looked at.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from tradingbot.domain.errors import TrainingError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.training import Evaluated, Updated
from tradingbot.evaluation.analyses.retraining.spec import RetrainingSpec, retraining_config
from tradingbot.executors.executor import Progress, ignore_progress
from tradingbot.learning.guards import FlightRecorder
from tradingbot.learning.trainer import Trainer
from tradingbot.learning.trainer_hooks import Hooks, Snapshot
from tradingbot.training.agent_scores import choosing_bars, scores_on
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import override_config
from tradingbot.training.data import TrainingData
from tradingbot.training.preparation import prepare
from tradingbot.training.setup import build_training_setup
from tradingbot.tuning.request import TuneSettings
from tradingbot.tuning.trial_record import TrialResult, TrialState, TuningTrial

if TYPE_CHECKING:
    from tradingbot.tuning.pruning import CurvePruner


@dataclass(frozen=True, eq=False)
class TrialBench:
    """What every trial of a study learns from."""

    config: TrainConfig
    """With the symbols of trials."""
    settings: TuneSettings
    data: TrainingData
    workspace: Path


def trial_config(config: TrainConfig, settings: TuneSettings, spec: TuningTrial) -> TrainConfig:
    """Return the configuration of a trial's first training.

    Raises:
        ConfigError: If its settings do not fit the configuration.
    """
    wanted = RetrainingSpec(spec.seeds[0], settings.steps_share_frac, spec.params)
    made = retraining_config(wanted, config)
    learner, budget = made.learner, made.budget
    in_update = budget.n_envs * learner.spec.steps_of_update(learner.settings)
    updates = -(-budget.steps_per_agent // in_update)
    every = max(1, updates // settings.evaluations)
    return override_config(made, {"validation.every_updates": every})


def run_trial(
    bench: TrialBench,
    spec: TuningTrial,
    pruner: CurvePruner,
    progress: Progress = ignore_progress,
) -> TrialResult:
    """Train with every seed of a trial; what is pruned with one seed is not begun with the next.

    Args:
        bench: Data and configuration.
        spec: What is tried.
        pruner: Asked after every evaluation; its curve is the mean over the seeds so far.
        progress: Told of steps.

    Raises:
        UserError: If the configuration cannot be trained on these bars.
    """
    config, began = trial_config(bench.config, bench.settings, spec), time.perf_counter()
    curves: list[list[float]] = []
    state: TrialState = "finished"
    failed, steps = "", 0
    for seed in spec.seeds:
        curve: list[float] = []
        curves.append(curve)
        done = _train(bench, replace_seed(config, seed), seed, curve, curves, pruner, progress)
        steps, failed = steps + done.steps, done.failed
        if done.failed or done.is_pruned:
            state = "failed" if done.failed else "pruned"
            break
    means = mean_curve(curves)
    return TrialResult(
        spec=spec,
        state=state,
        score=max((score for _, score in means), default=None),
        curve=means,
        steps_per_agent=steps,
        took_s=time.perf_counter() - began,
        config_hash=config.config_hash,
        failed=failed,
        notes=pruner.notes,
    )


def replace_seed(config: TrainConfig, seed: int) -> TrainConfig:
    """Return a configuration with another seed."""
    return config.model_copy(update={"seed": seed})


def mean_curve(curves: Sequence[Sequence[float]]) -> tuple[tuple[int, float], ...]:
    """Return the mean of learning curves at every evaluation that all of them have.

    A curve that stopped early holds no others back: evaluations that only some have are left out
    unless none has them all.
    """
    whole = [curve for curve in curves if curve]
    length = min(map(len, whole), default=0)
    return tuple(
        (place + 1, float(np.mean([curve[place] for curve in whole]))) for place in range(length)
    )


@dataclass(frozen=True)
class _Trained:
    steps: int
    is_pruned: bool = False
    failed: str = ""


def _train(
    bench: TrialBench,
    config: TrainConfig,
    seed: int,
    curve: list[float],
    curves: Sequence[Sequence[float]],
    pruner: CurvePruner,
    progress: Progress,
) -> _Trained:
    """Train once and fill the curve; stop where the pruner says so."""
    data = bench.data
    setup = build_training_setup(config, data, seed=seed)
    prepare(setup, bench.workspace)
    healthy: dict[str, Tensor] = {}
    pruned = False

    def save(snapshot: Snapshot) -> None:
        if "healthy" in snapshot.labels:
            healthy.clear()
            healthy.update({name: tensor.clone() for name, tensor in snapshot.tensors.items()})

    def tell(event: Event) -> None:
        nonlocal pruned
        if isinstance(event, Updated):
            total = config.budget.steps_per_agent
            progress(min(event.steps, total), total, "training, step")
        elif isinstance(event, Evaluated):
            curve.append(event.mean_score)
            pruned = pruned or pruner.gives_up(mean_curve(curves))

    hooks = Hooks(
        evaluate=lambda: scores_on(choosing_bars(data), setup, data),
        save=save,
        load_healthy=lambda: dict(healthy),
        emit=tell,
        interrupted=lambda: pruned,
    )
    recorder = FlightRecorder(setup.learner.task, config.guards)
    trainer = Trainer(setup.learner, config.plan, hooks, recorder)
    try:
        ended = trainer.run()
    except TrainingError as e:
        return _Trained(setup.learner.steps, failed=str(e))
    return _Trained(ended.steps, is_pruned=ended.ending == "interrupted")


def with_symbols(config: TrainConfig, symbols: Sequence[str]) -> TrainConfig:
    """Return a configuration whose agents trade some symbols; its own where none are given."""
    return override_config(config, {"symbols": list(symbols)}) if symbols else config
