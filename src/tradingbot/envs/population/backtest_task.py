"""The task that is a backtest: the population over one span of bars, once."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population.layout import require_bars
from tradingbot.envs.population.task import PopulationTask
from tradingbot.envs.starting import first_ready_bar
from tradingbot.envs.world import World, require_world


class _BacktestTask(PopulationTask):
    """One environment per agent and one episode, which nothing follows."""

    resets = False

    def during(
        self, first_bar: int, last_bar: int, *, recency: float | None = None
    ) -> PopulationTask:
        """Return a backtest of other bars."""
        require_bars(self.world, first_bar, last_bar)
        rules = self.config.rules
        episode = replace(rules.episode, episode_bars=last_bar - first_bar)
        task = copy.copy(self)
        task.config = replace(self.config, rules=replace(rules, episode=episode))
        task._lay_out(np.arange(self.world.n_bars) == first_bar)
        return task

    def _possible(self) -> NDArray[np.bool_]:
        first: NDArray[np.bool_] = np.eye(1, self.world.n_bars, dtype=bool)
        return first


def evaluation_task(
    world: World,
    config: EnvConfig,
    *,
    first_bar: int | None = None,
    last_bar: int | None = None,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    compiled: bool | None = None,
) -> PopulationTask:
    """Return the task that is a backtest: one environment per agent, one episode, no reset.

    All agents begin at the same bar; after `episode_bars` steps the data are used up, and another
    step would mean nothing. A ruined account stays ruined.

    Args:
        world: What is traded and seen.
        config: Rules, costs and reward; length and starts of episodes are not read.
        first_bar: Bar of the first decision; by default the first at which most symbols are usable.
        last_bar: Bar at whose close the episode ends; by default the world's last.
        device: Where everything lives.
        dtype: Number format of accounts.
        compiled: Compile `step` at its first call; by default on CUDA only.

    Raises:
        DataError: If no bar follows the first, or these are no bars of the world.
    """
    require_world(world)
    first = first_ready_bar(world) if first_bar is None else first_bar
    last = world.n_bars - 1 if last_bar is None else last_bar
    require_bars(world, first, last)
    whole = _BacktestTask(
        world, config, n_envs=1, seed=0, device=device, compiled=compiled, dtype=dtype
    )
    return whole.during(first, last)
