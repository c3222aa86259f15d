"""Discrete agents in the continuous environment: one market, two kinds of agents, the same bars.

The simulator always reads continuous actions; `agent_space` says what the agent speaks. Discrete
codes go through `translator`, and the agent sees, and is limited by, what it would be in the
discrete environment: its own last action and repeats in the observation, mask, limit on repeats.
With `smoothing_bars = 1` the fills are those of the discrete environment, step for step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, SupportsFloat, Unpack, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import ConfigError
from tradingbot.envs.actions import read_action, read_actions
from tradingbot.envs.batch import BatchSimulator
from tradingbot.envs.batch.layout import EngineOptions
from tradingbot.envs.batch.step import BatchStep
from tradingbot.envs.config import EnvConfig, read_config
from tradingbot.envs.registration import default_world
from tradingbot.envs.single import ObservationRow, RenderMode, TradingEnv
from tradingbot.envs.single.info import ACTION_NAMES, summarise
from tradingbot.envs.spaces import Observation, action_space
from tradingbot.envs.translator import Translation, number_of_code, remember
from tradingbot.envs.world import World
from tradingbot.market.compiled import allowed_codes
from tradingbot.market.observation import observe_accounts

AgentSpace = Literal["continuous", "discrete"]


def make_hybrid_env(
    world: World | None = None,
    config: EnvConfig | str | None = None,
    *,
    agent_space: AgentSpace = "discrete",
    render_mode: RenderMode | None = None,
) -> HybridEnv:
    """Make `TradingBot/Hybrid-v1`; world and configuration as the other ids take them.

    Without a configuration of its own the environment does not smooth: a code is no noisy number,
    and what is smoothed is executed only in part.
    """
    chosen = read_config(config)
    if not isinstance(config, EnvConfig):
        chosen = remove_smoothing(chosen)
    world = world or default_world()
    return HybridEnv(world, chosen, agent_space=agent_space, render_mode=render_mode)


def remove_smoothing(config: EnvConfig) -> EnvConfig:
    """Return the same configuration with every action executed at once."""
    action = replace(config.rules.action, smoothing_bars=1)
    return replace(config, rules=replace(config.rules, action=action))


class HybridEnv(TradingEnv):
    """One account that trades continuously, for an agent whose action space is chosen.

    ## Action space

    `agent_space="continuous"`: that of `TradingBot/Continuous-v1`, and nothing else differs.
    `agent_space="discrete"`: that of `TradingBot/Discrete-v1`, with `action_masks()`; each code is
    translated into the number that gives the same order.

    ## Observation space, starting state, episode end

    As `TradingEnv`. A discrete agent sees its own last code and repeats.

    ## Rewards

    As `TradingEnv`. Terms that look at codes (repeats, variety) see what the order amounted to: a
    masked code is a HOLD to them.

    ## Information

    With a discrete agent `info` adds `selected_action` (name of the code asked for),
    `translated_action` (the number sent) and `translation_exact`; `action` and `violation` are
    those of the code.

    ## Version history

    * v1: first version.
    """

    def __init__(
        self,
        world: World,
        config: EnvConfig | None = None,
        *,
        agent_space: AgentSpace = "discrete",
        render_mode: RenderMode | None = None,
    ) -> None:
        """Prepare a world; `reset` must follow.

        Args:
            world: What is traded and seen.
            config: Rules, costs, reward, observation; its action space is not read.
            agent_space: What the agent speaks.
            render_mode: What `render` returns.

        Raises:
            ConfigError: If the agent's space is unknown, or a discrete agent's account may be
                short.
        """
        if agent_space not in get_args(AgentSpace):
            raise ConfigError("agent_space must be continuous or discrete", was=repr(agent_space))
        config = config or EnvConfig()
        super().__init__(world, config.with_space("continuous"), render_mode=render_mode)
        self.agent_space = agent_space
        self.action_space = action_space(agent_space)
        self._rates = self.config.costs.rates(dtype=torch.float64)
        if agent_space == "discrete":
            self._discrete_rules = config.with_space("discrete").rules

    def step(
        self, action: Any
    ) -> tuple[Observation | ObservationRow, SupportsFloat, bool, bool, dict[str, Any]]:
        """Decide at the close of the current bar and move to the close of the next."""
        if self.agent_space == "continuous" or not self._begun or self._ended:
            return super().step(action)
        code = read_action(action, space="discrete", strict=self.config.strict)
        rules, lane = self._discrete_rules, self._lane
        with torch.no_grad():
            translation = number_of_code(rules, self._rates, lane.tensors(), torch.tensor([code]))
        _, reward, terminated, truncated, info = super().step(translation.number.item())
        decision = translation.decision
        lane.place(remember(lane.tensors(), decision), rules)
        info |= {
            "action": ACTION_NAMES[int(decision.code)],
            "violation": bool(decision.violation),
            "selected_action": ACTION_NAMES[int(decision.selected)],
            "translated_action": translation.number.item(),
            "translation_exact": bool(translation.exact),
        }
        if self._ended:
            info["summary"] = summarise(self.config.rules, lane.account())
        return self._observe(), reward, terminated, truncated, info

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation | ObservationRow, dict[str, Any]]:
        """Begin an episode; arguments as `TradingEnv.reset`."""
        observation, info = super().reset(seed=seed, options=options)
        if self.agent_space == "continuous":
            return observation, info
        self._lane.place(self._lane.tensors(), self._discrete_rules)
        return self._observe(), info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which of the seven codes a discrete agent may execute now, (7,).

        Raises:
            UserError: If the agent is not discrete, or there is no episode.
        """
        if self.agent_space == "continuous" or not self._begun:
            return super().action_masks()
        return self._lane.allowed(self._discrete_rules)


class HybridSimulator(BatchSimulator):
    """B lanes that trade continuously, stepped by discrete codes: `HybridEnv` for a batch."""

    def __init__(
        self, world: World, config: EnvConfig, n_environments: int, **engine: Unpack[EngineOptions]
    ) -> None:
        """Bring a world to a device; see `BatchSimulator` for the arguments."""
        continuous = config.with_space("continuous")
        super().__init__(world, continuous, n_environments, **engine)
        self._discrete_rules = config.with_space("discrete").rules
        self._action_kinds = ""  # codes are translated first
        self.translation: Translation | None = None
        """Of the last step; None before one."""

    def step(self, actions: Tensor | NDArray[np.generic]) -> BatchStep:
        """Step every lane by one bar.

        Args:
            actions: (B,) whole codes of `domain.action.Action`.
        """
        account, rules = self.account, self._discrete_rules
        codes = read_actions(actions, (self.n_lanes,), "discrete", strict=self.config.strict)
        self.translation = number_of_code(rules, self._rates, account, codes.to(self.device))
        made = super().step(self.translation.number)
        decision = self.translation.decision
        after = remember(made.before_reset, decision)
        ended = made.terminated | made.truncated
        going_on = remember(made.account, decision)
        kept = {
            name: torch.where(ended, getattr(made.account, name), getattr(going_on, name))
            for name in ("last_action", "repeats", "violations")
        }
        account = made.account._replace(**kept)
        self._place(account, observe_accounts(rules, account))
        return replace(
            made,
            account=account,
            private=observe_accounts(rules, account),
            final_private=observe_accounts(rules, after),
            advance=lambda: made.advanced._replace(after=after),
            after=after,
        )

    def action_masks(self) -> Tensor:
        """Return which of the seven codes each lane may execute, (B, 7) bool."""
        return allowed_codes(self._discrete_rules, self._rates, self.account).T
