"""A learner that is ready to train, in one call; and what to ask of it then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from tradingbot.app.training.assembly import (
    Wired,
    assemble,
    choose_device,
    env_config,
    part_task,
)
from tradingbot.app.training.configuration import TrainConfig
from tradingbot.app.training.data import TrainingData
from tradingbot.app.training.preparing import Hearers, prepare, restore
from tradingbot.envs.population import PopulationTask
from tradingbot.learning.learner import Learner, Metrics
from tradingbot.learning.playing import play, score

__all__ = [
    "Report",
    "Wired",
    "choose_device",
    "env_config",
    "part_task",
    "scores_on",
    "torch_threads",
    "wire",
]

Report = Callable[[str, int, int, Metrics], None]
"""Told (stage, updates so far, of how many, metrics) of pre-training and cloning."""


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch use so many threads in the block; 0 leaves its choice."""
    before = torch.get_num_threads()
    if count:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def wire(
    config: TrainConfig,
    data: TrainingData,
    *,
    seed: int,
    encoder_weights: Mapping[str, Tensor] | None = None,
    report: Report | None = None,
) -> Wired:
    """Build everything and prepare it: pre-train, embed, clone, as the configuration says.

    An encoder of another run (`encoder.transfer_from`) is no matter of this function: sessions
    open it and give it to `assemble`.

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
    wired = assemble(config, data, seed=seed, begins=encoder_weights is None)
    if encoder_weights is None:
        prepare(wired, hearers=Hearers(report) if report else None)
    else:
        restore(wired, encoder_weights)
    return wired


def scores_on(task: PopulationTask, learner: Learner, bars_per_year: float) -> dict[str, Tensor]:
    """Play the deterministic policy through the backtest of a part, and score each agent."""
    played = play(task, learner.act, task.episode_bars)
    return score(played, task.action, bars_per_year=bars_per_year)
