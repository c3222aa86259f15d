"""From a configuration and data to a learner: device, task, encoder, pre-training, view."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from tradingbot.agents.rules.catalogue import rule_policy
from tradingbot.app.training.configuration import TrainConfig
from tradingbot.app.training.data import TrainingData
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.auxiliary import auxiliary_targets
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population import PopulationTask, evaluation_task
from tradingbot.evaluation.expert_actions import expert_actions
from tradingbot.learning.direct.learner import Direct
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Learner, Metrics
from tradingbot.learning.playing import play, score
from tradingbot.learning.ppo.learner import PPO
from tradingbot.learning.pretraining.learner import Pretrainer
from tradingbot.learning.sac.learner import SAC
from tradingbot.market.costs import cost_profile
from tradingbot.networks.encoders.catalogue import build_encoder, encoder_preset
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.view import EncoderView, TableView, View, frozen_view

Report = Callable[[int, Metrics], None]
"""Told (updates so far, metrics) of pre-training."""


@dataclass(frozen=True, eq=False)
class Wired:
    """A learner with everything around it, ready to train."""

    learner: Learner
    env: EnvConfig
    encoder: Encoder | None
    """A frozen one, part of every checkpoint; None where the table is seen as it is, or where the
    encoder learns with the agents and is one of the learner's networks."""
    device: torch.device


def choose_device(name: str) -> torch.device:
    """Return the device a configuration asks for.

    Raises:
        ConfigError: If CUDA is asked for and there is none.
    """
    has_cuda = torch.cuda.is_available()
    if name == "cuda" and not has_cuda:
        raise ConfigError(
            "device must be there",
            was="cuda, of which torch finds none",
            remedy="Use --device cpu, or install a torch build with CUDA; see: tradingbot doctor",
        )
    return torch.device("cuda" if name == "cuda" or (name == "auto" and has_cuda) else "cpu")


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


def env_config(config: TrainConfig) -> EnvConfig:
    """Return rules, costs and reward of a run.

    Raises:
        ConfigError: If there is no such cost profile or reward.
    """
    task = config.task
    return EnvConfig(rules=task.rules, costs=cost_profile(task.costs), reward=task.reward)


def wire(
    config: TrainConfig,
    data: TrainingData,
    *,
    seed: int,
    encoder_weights: Mapping[str, Tensor] | None = None,
    report: Report | None = None,
) -> Wired:
    """Build everything; pre-trains the encoder where the configuration says so.

    Args:
        config: Of the run.
        data: What it learns from.
        seed: Root of every random stream.
        encoder_weights: Of an encoder that was pre-trained before; then it is not again.
        report: Told of the progress of pre-training.

    Raises:
        ConfigError: If the device is absent, or a name is unknown.
        DataError: If no episode fits into the training part.
    """
    device, env = choose_device(config.device), env_config(config)
    task = _task(config, data, env, seed, device)
    encoder = _encoder(config, data, task, seed)
    if encoder is not None and encoder_weights is not None:
        encoder.load_state_dict(dict(encoder_weights))
    elif encoder is not None and config.encoder.pretrain:
        _pretrain(encoder, config, data, task, seed, report)
    view = _view(config, encoder, task)
    kept = None if config.encoder.trainable else encoder
    return Wired(_learner(config, task, view, seed), env, kept, device)


def scores_on(task: PopulationTask, learner: Learner, bars_per_year: float) -> dict[str, Tensor]:
    """Play the deterministic policy through the backtest of a part, and score each agent."""
    played = play(task, learner.act, task.episode_bars)
    return score(played, task.action, bars_per_year=bars_per_year)


def part_task(wired: Wired, data: TrainingData, part: IndexRange) -> PopulationTask:
    """Return the backtest of a part, showing agents what they saw in training."""
    whole = evaluation_task(
        data.world, wired.env, first_bar=part.start, last_bar=part.stop - 1, device=wired.device
    )
    trained_on = wired.learner.task
    assert isinstance(trained_on, PopulationTask)
    return whole.showing(*trained_on.private_names)


def _task(
    config: TrainConfig, data: TrainingData, env: EnvConfig, seed: int, device: torch.device
) -> PopulationTask:
    with warnings.catch_warnings():
        # A machine without a compiler is slower, not wrong; doctor tells.
        warnings.simplefilter("ignore", RuntimeWarning)
        task = PopulationTask(
            data.world,
            env,
            n_envs=config.budget.n_envs,
            seed=seed,
            device=device,
            compiled=True if config.compile else None,
        ).during(data.split.train.start, data.split.train.stop - 1)
    return task.showing(*config.task.private) if config.task.private else task


def _encoder(
    config: TrainConfig, data: TrainingData, task: PopulationTask, seed: int
) -> Encoder | None:
    settings = encoder_preset(config.encoder.preset)
    if settings.kind == "row":
        return None
    weights = make_generator(seed, "encoder", "weights")
    return build_encoder(settings, task.table.shape[-1], weights).to(task.table.device)


def _pretrain(
    encoder: Encoder,
    config: TrainConfig,
    data: TrainingData,
    task: PopulationTask,
    seed: int,
    report: Report | None,
) -> None:
    world = data.world
    expert = expert_actions(
        world, rule_policy("expert", seed=seed, regime_names=world.regime_names)
    )
    targets = auxiliary_targets(
        world, train=data.split.train, expert=expert, device=task.table.device
    )
    Pretrainer(encoder, task.table, targets, config.pretraining, seed=seed).complete(report)


def _view(config: TrainConfig, encoder: Encoder | None, task: PopulationTask) -> View:
    if encoder is None:
        return TableView(task.table)
    if config.encoder.trainable:
        return EncoderView(encoder, task.table)
    encoder.requires_grad_(False)
    return frozen_view(encoder, task.table)


def _learner(config: TrainConfig, task: PopulationTask, view: View, seed: int) -> Learner:
    section = config.learner
    if section.name == "ppo":
        return PPO(task, view, section.ppo, seed=seed)
    if section.name == "sac":
        return SAC(task, view, section.sac, seed=seed)
    return Direct(task, view, section.direct, seed=seed)
