"""The task that agents are trained in: a population, a curriculum, goals or a portfolio."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch

from tradingbot.agents.options.market_options import MarketOptions
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.curriculum.task import CurriculumTask
from tradingbot.envs.neutral_bars import remove_factor
from tradingbot.envs.population import PopulationTask
from tradingbot.envs.population.goal_task import GoalTask
from tradingbot.envs.portfolio.task import PortfolioTask
from tradingbot.envs.world import World
from tradingbot.runs.option_signals import option_signals
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData
from tradingbot.training.environment import EnvironmentSection
from tradingbot.training.sleeve_book import open_book, portfolio_terms

TrainingTask = PopulationTask | PortfolioTask
"""What a run trains in, and is evaluated in on other bars."""


def build_task(
    config: TrainConfig,
    data: TrainingData,
    env: EnvConfig,
    seed: int,
    device: torch.device,
    interrupted: Callable[[], bool] = lambda: False,
) -> TrainingTask:
    """Build what agents are trained in; arguments are those of `build_training_setup`."""
    train = data.split.train
    if config.environment.kind == "portfolio":
        book = open_book(config, data, env, seed).to(device)
        terms = portfolio_terms(config, env)
        whole = PortfolioTask(book, terms, n_envs=config.budget.n_envs, seed=seed)
        return whole.during(train.start, train.stop - 1)
    with warnings.catch_warnings():
        # A machine without a compiler is slower, not wrong; doctor tells.
        warnings.simplefilter("ignore", RuntimeWarning)
        task = PopulationTask(
            training_world(config, data),
            env,
            n_envs=config.budget.n_envs,
            seed=seed,
            device=device,
            compiled=True if config.compile else None,
        ).during(train.start, train.stop - 1, recency=config.budget.recency)
    shown = task.showing(*config.task.private) if config.task.private else task
    if config.learner.spec.takes_options:
        signals = option_signals(shown.table, data.world.scalers, data.world.symbols)
        short = config.task.rules.limits.allow_short
        names = shown.private_names
        shown.options = MarketOptions(config.options, signals, names, allow_short=short)
    return enter_environment(shown, config.environment, interrupted)


def training_world(config: TrainConfig, data: TrainingData) -> World:
    """Return the bars that agents learn from: without the market's moves, unless they aim for them.

    Betas are of the training bars, as those that validation judges by.
    """
    if not config.task.neutral_bars or config.environment.kind == "goal":
        return data.world
    factor = data.factor.of(data.world.symbols)
    return remove_factor(data.world, factor, data.split.train)


def enter_environment(
    task: PopulationTask,
    environment: EnvironmentSection,
    interrupted: Callable[[], bool] = lambda: False,
) -> PopulationTask:
    """Return the task on a run's own bars as the environment that agents are trained in.

    Raises:
        DataError: If no episode fits into a generated market of as many bars.
        InterruptionError: If the process was asked to stop before all markets were generated.
    """
    if environment.kind == "curriculum":
        return CurriculumTask(task, environment.curriculum, interrupted)
    if environment.kind == "goal":
        return GoalTask(task, environment.goal)
    return task
