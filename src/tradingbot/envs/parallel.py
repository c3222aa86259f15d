"""PettingZoo's `ParallelEnv`: one agent per symbol, all of them in one tensor call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import gymnasium as gym
import numpy as np
import torch

from tradingbot.domain.errors import MissingExtraError, UserError, require_known
from tradingbot.envs.actions import read_action
from tradingbot.envs.batch import BatchSimulator
from tradingbot.envs.batch.layout import EngineOptions
from tradingbot.envs.batch.observation import ArrayObservation, as_arrays, lane_of
from tradingbot.envs.batch.step import BatchStep
from tradingbot.envs.config import EnvConfig, read_config
from tradingbot.envs.spaces import action_space, observation_space
from tradingbot.envs.world import World
from tradingbot.market.account import Account

try:
    from pettingzoo import ParallelEnv
except ImportError as e:
    raise MissingExtraError("train", package="pettingzoo") from e

AgentInfos = dict[str, dict[str, Any]]
ParallelStep = tuple[
    dict[str, ArrayObservation], dict[str, float], dict[str, bool], dict[str, bool], AgentInfos
]


class TradingParallelEnv(ParallelEnv):  # type: ignore[misc]
    """N agents named by their symbols, each with an account of its own, on one clock.

    An agent that ends (ruin, or the end of the episode) leaves `agents` until the next reset; the
    others go on. One agent per symbol, so together they never take more of a bar than
    `max_participation_frac`. A living agent that sends no action holds, and that is counted as a
    violation: silence is not an order. `infos[agent]` has `equity`, `violations` of the episode so
    far and, where actions are discrete, `action_mask` (7,) int8; that of `reset` has `fill_at`.
    """

    metadata: dict[str, Any] = {"name": "trading_parallel_v0", "render_modes": []}  # noqa: RUF012

    def __init__(
        self, world: World, config: EnvConfig | str | None = None, **engine: Unpack[EngineOptions]
    ) -> None:
        """Make one agent for each symbol; see `BatchSimulator` for the arguments."""
        config = read_config(config)
        self.simulator = BatchSimulator(world, config, 1, lanes="per_symbol", **engine)
        self.render_mode = None
        self.possible_agents = list(world.symbols)
        self.agents: list[str] = []
        self._lane = {agent: lane for lane, agent in enumerate(world.symbols)}
        self._space = config.rules.action.space
        # Spaces draw samples from generators of their own: one object per agent.
        self._observation_spaces = {a: observation_space(world, config) for a in world.symbols}
        self._action_spaces = {agent: action_space(self._space) for agent in world.symbols}
        self._episode = -1

    def observation_space(self, agent: str) -> gym.Space[Any]:
        """Return the space of an agent's observations, always the same object."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> gym.Space[Any]:
        """Return the space of an agent's actions, always the same object."""
        return self._action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, ArrayObservation], AgentInfos]:
        """Bring all agents back, at one bar.

        Args:
            seed: Root of all starts; None goes on to the next episode.
            options: Must be empty: an option that is ignored would be a lie. The key `options`,
                which PettingZoo's own test of this method passes, is let through.

        Raises:
            UserError: If there are options, or the seed is not one whole number; agents and
                episode are then what they were.
        """
        unknown = sorted(str(option) for option in options or () if option != "options")
        if unknown:
            raise UserError("options must be empty", was=repr(unknown[0]), where="reset")
        episode = 0 if seed is not None else self._episode + 1
        self.simulator.reset(seed, episode=episode)
        self._episode = episode
        self.agents = self.possible_agents[:]
        observation = as_arrays(self.simulator.observe())
        observations = {agent: lane_of(observation, self._lane[agent]) for agent in self.agents}
        fill_at = {"fill_at": self.simulator.config.rules.episode.fill_at}
        infos = self._infos_of(self.agents, self.simulator.account)
        return observations, {agent: info | fill_at for agent, info in infos.items()}

    def step(self, actions: Mapping[str, Any]) -> ParallelStep:
        """Step all living agents by one bar.

        Raises:
            UserError: Before a reset, for an agent that is unknown or has ended, or for an action
                of the wrong kind; nothing has moved then.
        """
        acting = self.agents
        made = self.simulator.step_unchecked(self._row_of_actions(actions))
        ends = made.terminated, made.truncated
        terminated, truncated, rewards = (x.numpy(force=True) for x in (*ends, made.reward))
        results: ParallelStep = (
            self._observations(made, acting),
            {agent: float(rewards[self._lane[agent]]) for agent in acting},
            {agent: bool(terminated[self._lane[agent]]) for agent in acting},
            {agent: bool(truncated[self._lane[agent]]) for agent in acting},
            self._infos_of(acting, self.simulator.before_reset(made)),
        )
        ended = terminated | truncated
        self.agents = [agent for agent in acting if not ended[self._lane[agent]]]
        return results

    def close(self) -> None:
        """Nothing is held but memory."""

    def _observations(self, made: BatchStep, acting: list[str]) -> dict[str, ArrayObservation]:
        """Show each agent the end of its bar: before the reset, where its lane began anew."""
        every = torch.arange(self.simulator.n_lanes, device=self.simulator.device)
        observation = as_arrays(self.simulator.observe_before_reset(made, every))
        return {agent: lane_of(observation, self._lane[agent]) for agent in acting}

    def _infos_of(self, agents: list[str], account: Account) -> AgentInfos:
        equity, violations = account.equity.tolist(), account.violations.tolist()
        infos: AgentInfos = {}
        for agent in agents:
            lane = self._lane[agent]
            infos[agent] = {"equity": equity[lane], "violations": violations[lane]}
        if self._space != "discrete":
            return infos
        masks = self.simulator.action_masks().numpy(force=True).astype(np.int8)
        return {a: info | {"action_mask": masks[self._lane[a]]} for a, info in infos.items()}

    def _row_of_actions(self, actions: Mapping[str, Any]) -> torch.Tensor:
        """Lay the actions in the order of lanes; agents without an action hold."""
        if not self.agents:
            raise UserError("reset must be called before step, and once all agents have ended")
        for agent in actions:
            require_known(agent, self.agents, "actions must be for living agents", error=UserError)
        given = {self._lane[agent]: self._read(agent, action) for agent, action in actions.items()}
        discrete = self._space == "discrete"
        row = np.zeros(len(self.possible_agents), dtype=np.int64 if discrete else np.float64)
        silent = [self._lane[agent] for agent in self.agents if agent not in actions]
        row[silent] = -1 if discrete else np.nan
        row[list(given)] = list(given.values())
        return torch.from_numpy(row)

    def _read(self, agent: str, action: Any) -> float:
        try:
            return read_action(action, space=self._space, strict=self.simulator.config.strict)
        except UserError as e:
            raise UserError(e.rule, was=e.was, where=f"agent {agent!r}", remedy=e.remedy) from e
