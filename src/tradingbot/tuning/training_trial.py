"""One trial: the product's own training on the first half of validation, given up where it is poor.

Learner, trainer, guards and scores are those of `tradingbot train`; nothing of it is kept on disk
but its learning curve. Neither the second half of validation nor the test part is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from tradingbot.domain.errors import TrainingError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.training import Evaluated, Updated
from tradingbot.evaluation.analyses.retraining.shared_pretraining import share_pretraining
from tradingbot.evaluation.analyses.retraining.spec import RetrainingSpec, retraining_config
from tradingbot.executors.executor import Progress, ignore_progress
from tradingbot.learning.guards import FlightRecorder
from tradingbot.learning.trainer import Trainer
from tradingbot.learning.trainer_hooks import Hooks, Snapshot
from tradingbot.training.agent_scores import choosing_bars, scores_on
from tradingbot.training.budget import steps_in_update
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import override_config
from tradingbot.training.data import TrainingData
from tradingbot.training.preparation import prepare
from tradingbot.training.setup import TrainingSetup, build_training_setup
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
    updates = -(-made.budget.steps_per_agent // steps_in_update(made))
    every = max(1, updates // settings.evaluations)
    return override_config(made, {"validation.every_updates": every})


class TrialProgress:
    """One trial on its way: curves of its seeds so far, and what became of it."""

    def __init__(self, bench: TrialBench, spec: TuningTrial, pruner: CurvePruner) -> None:
        """Begin with nothing.

        Raises:
            ConfigError: If its settings do not fit the configuration.
        """
        self.bench, self.spec, self._pruner = bench, spec, pruner
        self.config = trial_config(bench.config, bench.settings, spec)
        self._curves: list[list[float]] = []
        self._state: TrialState = "finished"
        self._failed, self._steps, self.took_s = "", 0, 0.0

    @property
    def goes_on(self) -> bool:
        """Whether a further seed is to be trained."""
        return self._state == "finished"

    def begin(self, seed: int, shared: Path | None) -> SeedTraining:
        """Build the training of a seed, pre-trained where that was done before.

        Args:
            seed: Of the training.
            shared: Folder of pre-trained encoders; None: pre-train here.
        """
        config, data = replace_seed(self.config, seed), self.bench.data
        setup = build_training_setup(config, data, seed=seed)
        prepare(share_pretraining(setup, shared), self.bench.workspace)
        return SeedTraining(self, config, setup)

    def add(self, done: Trained) -> None:
        """Take the end of one seed's training."""
        self._steps += done.steps
        self._failed = done.failed
        if done.failed or done.is_pruned:
            self._state = "failed" if done.failed else "pruned"

    def new_curve(self) -> list[float]:
        """Return the empty curve of the seed that begins."""
        self._curves.append([])
        return self._curves[-1]

    def gives_up(self) -> bool:
        """Ask the pruner, after a point was added to a curve."""
        return self._pruner.gives_up(mean_curve(self._curves))

    def result(self) -> TrialResult:
        """Return what became of it."""
        means = mean_curve(self._curves)
        return TrialResult(
            spec=self.spec,
            state=self._state,
            score=max((score for _, score in means), default=None),
            curve=means,
            steps_per_agent=self._steps,
            took_s=self.took_s,
            config_hash=self.config.config_hash,
            failed=self._failed,
            notes=self._pruner.notes,
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
class Trained:
    """How one training ended."""

    steps: int
    is_pruned: bool = False
    failed: str = ""


@dataclass(frozen=True, eq=False)
class SeedTraining:
    """One training of a trial, ready to begin."""

    trial: TrialProgress
    config: TrainConfig
    setup: TrainingSetup

    def run(self, progress: Progress = ignore_progress) -> Trained:
        """Train and fill the trial's curve; stop where the pruner says so."""
        data, setup, config = self.trial.bench.data, self.setup, self.config
        healthy: dict[str, Tensor] = {}
        curve, pruned = self.trial.new_curve(), False

        def save(snapshot: Snapshot) -> None:
            if "healthy" in snapshot.labels:
                healthy.clear()
                healthy.update({name: tensor.clone() for name, tensor in snapshot.tensors.items()})

        def tell(event: Event) -> None:
            nonlocal pruned
            if isinstance(event, Updated):
                total = config.budget.steps_per_agent
                progress(min(event.steps, total), total, f"{self.trial.spec.name}, step")
            elif isinstance(event, Evaluated):
                curve.append(event.mean_score)
                pruned = pruned or self.trial.gives_up()

        hooks = Hooks(
            evaluate=lambda: scores_on(choosing_bars(data), setup, data),
            save=save,
            load_healthy=lambda: dict(healthy),
            emit=tell,
            interrupted=lambda: pruned,
            updated=setup.teach_sleeves(tell),
        )
        recorder = FlightRecorder(setup.learner.task, config.guards)
        trainer = Trainer(setup.learner, config.plan, hooks, recorder)
        try:
            ended = trainer.run()
        except TrainingError as e:
            return Trained(setup.learner.steps, failed=str(e))
        return Trained(ended.steps, is_pruned=ended.ending == "interrupted")


def with_symbols(config: TrainConfig, symbols: Sequence[str]) -> TrainConfig:
    """Return a configuration whose agents trade some symbols; its own where none are given."""
    return override_config(config, {"symbols": list(symbols)}) if symbols else config
