"""A learner that is ready to train, in one call; and what to ask of it then."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor

from tradingbot.envs.population import PopulationTask
from tradingbot.learning.learner import Learner, Metrics
from tradingbot.learning.playing import play, score
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData
from tradingbot.training.preparation import PreparationCallbacks, prepare, restore
from tradingbot.training.setup import (
    TrainingSetup,
    build_training_setup,
    choose_device,
    env_config,
    part_task,
)

__all__ = [
    "Report",
    "TrainingSetup",
    "choose_device",
    "env_config",
    "part_task",
    "prepare_training_setup",
    "scores_on",
]

Report = Callable[[str, int, int, Metrics], None]
"""Told (stage, updates so far, of how many, metrics) of pre-training and cloning."""


def prepare_training_setup(
    config: TrainConfig,
    data: TrainingData,
    *,
    seed: int,
    encoder_weights: Mapping[str, Tensor] | None = None,
    report: Report | None = None,
) -> TrainingSetup:
    """Build everything and prepare it: pre-train, embed, clone, as the configuration says.

    An encoder of another run (`encoder.transfer_from`) is no matter of this function: sessions
    open it and give it to `build_training_setup`.

    Args:
        config: Of the run.
        data: What it learns from.
        seed: Root of every random stream.
        encoder_weights: Of a frozen encoder that was pre-trained before, or nothing where there is
            none; then nothing is pre-trained or cloned.
        report: Told of the progress.

    Raises:
        ConfigError: If the device is absent, or a name is unknown.
        DataError: If no episode fits into the training part, or a part has too few bars.
    """
    setup = build_training_setup(config, data, seed=seed, begins=encoder_weights is None)
    if encoder_weights is None:
        prepare(setup, callbacks=PreparationCallbacks(report) if report else None)
    else:
        restore(setup, encoder_weights)
    return setup


def scores_on(task: PopulationTask, learner: Learner, bars_per_year: float) -> dict[str, Tensor]:
    """Play the deterministic policy through the backtest of a part, and score each agent."""
    played = play(task, learner.act, task.episode_bars)
    return score(played, task.action, bars_per_year=bars_per_year)
