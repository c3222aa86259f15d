"""The book of a run's sleeves: what trades them, played once by the backtester from bar to bar."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.agents.policy import Policy
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population.layout import market_table
from tradingbot.envs.portfolio.book import SleeveBook
from tradingbot.envs.portfolio.sleeves import SleevePaths, write_book
from tradingbot.envs.portfolio.task import PortfolioTerms
from tradingbot.envs.starting import first_ready_bar
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest import Backtest, backtest
from tradingbot.evaluation.backtest.baselines import baseline
from tradingbot.networks.projection import Projection
from tradingbot.networks.threads import torch_threads
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData
from tradingbot.training.environment_rules import require_sleeve_rule
from tradingbot.training.sleeve_agents import WatchedPolicy
from tradingbot.training.trained_sleeves import SleeveAgents


class SleeveData(Protocol):
    """What sleeves are traded on, and by whom; `TrainingData` is such."""

    @property
    def world(self) -> World:
        """Bars and features."""

    @property
    def sleeve_agents(self) -> SleeveAgents | None:
        """None: a rule trades them."""


def open_book(config: TrainConfig, data: TrainingData, env: EnvConfig, seed: int) -> SleeveBook:
    """Let what the configuration names trade every symbol's sleeve over all bars.

    Raises:
        ConfigError: If it is no rule of the package, or has no such parameter.
    """
    count, train = config.environment.portfolio.embedding_numbers, data.split.train
    projection = principal_components(_seen(data), train, count)
    return book_through(projection, config, data, env, seed)


def book_through(
    projection: Projection | None,
    config: TrainConfig,
    data: SleeveData,
    env: EnvConfig,
    seed: int,
) -> SleeveBook:
    """Open the book of sleeves whose embeddings are seen through a projection that is known."""
    settings, world = config.environment.portfolio, data.world
    if data.sleeve_agents is None:
        paths = trade_sleeves(world, env, sleeve_rule(settings.sleeves, world, seed))
    else:
        paths = _trade_by_agents(world, env, data.sleeve_agents)
    return write_book(world, paths, _seen(data), projection)


def portfolio_terms(config: TrainConfig, env: EnvConfig) -> PortfolioTerms:
    """Return what portfolios of a configuration trade by and are rewarded for."""
    return PortfolioTerms(env.rules, env.costs, config.environment.portfolio.risk_aversion)


def _seen(data: SleeveData) -> NDArray[np.float32]:
    """Return how the market looks to what trades the sleeves, (T, N, E)."""
    agents = data.sleeve_agents
    if agents is not None:
        return agents.embeddings
    return np.asarray(market_table(data.world).movedim(0, 1).numpy())


def _trade_by_agents(world: World, env: EnvConfig, agents: SleeveAgents) -> SleevePaths:
    """Let trained agents trade by the rules that they learned with, at the portfolio's costs.

    Raises:
        ConfigError: If they may be short and the portfolio may not.
    """
    if agents.rules.limits.allow_short and not env.rules.limits.allow_short:
        raise ConfigError(
            "task.rules.limits.allow_short must be true where agents of the sleeves may be short",
            was="false",
            remedy="Set task.rules.limits.allow_short=true, or use agents that are long only",
        )
    watched = WatchedPolicy(agents.policy)
    paths = trade_sleeves(world, replace(env, rules=agents.rules), watched)
    first = first_ready_bar(world)
    sure = torch.stack(watched.confidence).double().numpy()
    paths.confidence[first : first + len(sure)] = sure
    return paths


def sleeve_rule(name: str, world: World, seed: int) -> Policy:
    """Return a rule that trades sleeves.

    Raises:
        ConfigError: If it is no rule of the package, or has no such parameter.
    """
    require_sleeve_rule(name)
    return baseline(name, world, seed=seed)


def trade_sleeves(
    world: World, env: EnvConfig, policy: Policy, first_bar: int | None = None
) -> SleevePaths:
    """Play a frozen policy on every symbol's account, from the first ready bar to the last.

    What `envs.portfolio.sleeves.run_sleeves` comes to as well, by the backtester.
    """
    start = first_ready_bar(world) if first_bar is None else first_bar
    bars, alone = IndexRange(start, world.n_bars), replace(env, reward="log_growth")
    with torch_threads(1):  # some thousand numbers a bar are too few to share out
        played = backtest(world, alone, policy, name="sleeves", bars_per_year=1.0, bars=bars)
    return paths_of(played, world, bars)


def paths_of(played: Backtest, world: World, bars: IndexRange) -> SleevePaths:
    """Return what a backtest of N accounts did, as sleeves of a world; the size says how sure."""
    paths = SleevePaths.empty(world.n_bars, world.n_symbols)
    decided = slice(bars.start, bars.stop - 1)
    paths.asked[decided] = played.action
    paths.target_frac[decided] = played.asked_frac
    paths.position_frac[bars.start + 1 : bars.stop] = played.position_frac
    paths.value[bars.start : bars.stop] = played.equity
    paths.confidence[decided] = np.minimum(np.abs(played.action), 1.0)
    return paths


def principal_components(
    seen: NDArray[np.float32], train: IndexRange, count: int
) -> Projection | None:
    """Return the directions in which what is seen varies most, of deviation 1.

    Args:
        seen: (T, N, E).
        train: Bars that means and directions are taken from.
        count: Directions; None is returned for 0, or as many as there are numbers or more: all
            numbers are seen as they are.
    """
    width = seen.shape[-1]
    if count == 0 or count >= width:
        return None
    learned = seen[train.start : train.stop].reshape(-1, width).astype(np.float64)
    mean = learned.mean(axis=0)
    variance, directions = np.linalg.eigh(np.cov(learned.T))
    best = directions[:, ::-1][:, :count] / np.sqrt(np.maximum(variance[::-1][:count], 1e-12))
    signs = np.sign(best[np.abs(best).argmax(axis=0), np.arange(count)])
    return Projection(torch.from_numpy(mean), torch.from_numpy(best * signs))
