"""The goal-conditioned environment: trade so that return and drawdown meet a goal, for HER.

What was achieved is a fact of the episode and what was desired a wish, so any step can be judged
afterwards against another wish: hindsight replay learns from episodes that missed theirs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.domain.seeding import stream
from tradingbot.envs.config import EnvConfig, read_config
from tradingbot.envs.registration import default_world
from tradingbot.envs.single import RenderMode, TradingEnv
from tradingbot.envs.spaces import Info, ResetOptions, flat_space
from tradingbot.envs.world import World
from tradingbot.market.goals import GoalRules, goal_reward, meets_goal

GoalObservation = dict[str, Any]
GoalReset = tuple[GoalObservation, Info]
GoalStep = tuple[GoalObservation, SupportsFloat, bool, bool, Info]
Goals = NDArray[np.floating[Any]]
"""(2,) or (…, 2): return and drawdown."""

# Equity ÷ initial cash − 1, and the largest 1 − equity ÷ highest equity, since the beginning.
_GOAL_LOW, _GOAL_HIGH = (-1.0, 0.0), (10.0, 1.0)


def draw_goal(rules: GoalRules, seed: int, episode: int) -> NDArray[np.float32]:
    """Draw the goal (2,) of an episode; a function of seed and number alone."""
    rng = stream(seed, "goals", episode)
    goal = [rng.uniform(*rules.return_range_frac), rng.uniform(*rules.drawdown_range_frac)]
    return np.array(goal, np.float32)


def make_goal_env(
    world: World | None = None,
    config: EnvConfig | str | None = None,
    goals: GoalRules | None = None,
    *,
    render_mode: RenderMode | None = None,
) -> GoalEnv:
    """Make `TradingBot/Goal-v1`; world and configuration as the other ids take them."""
    chosen_world = default_world() if world is None else world
    return GoalEnv(chosen_world, config, goals, render_mode=render_mode)


class GoalEnv(gym.Env[GoalObservation, Any]):
    """One account whose reward is to meet a goal of return and drawdown.

    ## Action space

    That of the configuration; continuous by default.

    ## Observation space

    A dict of float32: `observation`, the flat row of `TradingEnv`; `achieved_goal` (2,) and
    `desired_goal` (2,): return since the episode began and max drawdown so far, both fractions.

    ## Rewards

    `compute_reward(achieved_goal, desired_goal, info)`, of one pair or of a batch, without looking
    at `info`: 0 where the goal is met at this bar, else −1 (`GoalRules.reward` has a dense form).

    ## Starting state

    As `TradingEnv`; the goal follows from seed and number of the episode.
    `reset(options={"goal": (return, drawdown)})` sets it.

    ## Episode end

    As `TradingEnv`: meeting a goal does not end an episode, it has to be kept.

    ## Information

    As `TradingEnv`, but `reward_terms` holds the one term `goal`, the terms of the trading reward
    are in `trading_terms`, and `is_success` says whether the goal is met now.

    ## Version history

    * v1: first version.
    """

    metadata = TradingEnv.metadata

    def __init__(
        self,
        world: World,
        config: EnvConfig | str | None = None,
        goals: GoalRules | None = None,
        *,
        render_mode: RenderMode | None = None,
    ) -> None:
        """Prepare a world; `reset` must follow.

        Args:
            world: What is traded and seen.
            config: Rules, costs; its form of observation is not read.
            goals: Which goals, which reward.
            render_mode: What `render` returns.
        """
        flat = replace(read_config(config), observation="flat")
        self.trading = TradingEnv(world, flat, render_mode=render_mode)
        self.goals = GoalRules() if goals is None else goals
        if not isinstance(self.goals, GoalRules):
            raise ConfigError("goals must be GoalRules", was=type(goals).__name__, where="GoalEnv")
        self.render_mode = render_mode
        self.action_space = self.trading.action_space
        goal = gym.spaces.Box(np.array(_GOAL_LOW, np.float32), np.array(_GOAL_HIGH, np.float32))
        self.observation_space = gym.spaces.Dict(
            {
                "observation": flat_space(world, flat),
                "achieved_goal": goal,
                "desired_goal": gym.spaces.Box(goal.low, goal.high),
            }
        )
        self._initial_ccy = flat.rules.account.initial_cash_ccy
        self._peak_ccy = self._initial_ccy
        self._achieved = np.zeros(2, np.float32)
        self._desired = np.zeros(2, np.float32)

    def reset(self, *, seed: int | None = None, options: ResetOptions = None) -> GoalReset:
        """Begin an episode with a new goal.

        Args:
            seed: As `TradingEnv.reset`; of the goals too.
            options: `goal`, (return, drawdown) as fractions; and those of `TradingEnv`.

        Raises:
            UserError: If the goal is not two numbers within the bounds of its space.
        """
        rest = dict(options or {})
        goal = rest.pop("goal", None)
        wanted = None if goal is None else self._read_goal(goal)
        row, info = self.trading.reset(seed=seed, options=rest)
        super().reset(seed=seed)
        if wanted is None:
            wanted = draw_goal(self.goals, info["seed"], info["episode"])
        self._peak_ccy = self._initial_ccy
        self._achieved, self._desired = np.zeros(2, np.float32), wanted
        return self._observation(row), info

    def step(self, action: Any) -> GoalStep:
        """Trade one bar and judge what has been achieved by its close."""
        row, _, terminated, truncated, info = self.trading.step(action)
        equity = info["equity"]
        self._peak_ccy = max(self._peak_ccy, equity)
        drawdown = max(float(self._achieved[1]), 1.0 - equity / self._peak_ccy)
        achieved = np.array([equity / self._initial_ccy - 1.0, drawdown], np.float32)
        self._achieved = np.clip(achieved, _GOAL_LOW, _GOAL_HIGH, dtype=np.float32)
        reward = float(self.compute_reward(self._achieved, self._desired, info))
        info["trading_terms"] = info["reward_terms"]
        info["reward_terms"] = {"goal": reward}
        info["is_success"] = bool(
            meets_goal(self._achieved, self._desired, self.goals.tolerance_frac)
        )
        return self._observation(row), reward, terminated, truncated, info

    def compute_reward(
        self, achieved_goal: Goals, desired_goal: Goals, info: object
    ) -> NDArray[np.float32]:
        """Return the reward of achieved against desired goals, (2,) or (B, 2); (), or (B,).

        `info` is there for hindsight replay, which passes it; nothing in it matters.
        """
        given = np.asarray(achieved_goal), np.asarray(desired_goal)
        return np.asarray(goal_reward(self.goals, *given), np.float32)

    def render(self) -> Any:
        """Return the episode so far, as `TradingEnv.render`."""
        return self.trading.render()

    def _observation(self, row: Any) -> GoalObservation:
        return {
            "observation": row,
            "achieved_goal": self._achieved.copy(),
            "desired_goal": self._desired.copy(),
        }

    def _read_goal(self, goal: Any) -> NDArray[np.float32]:
        try:
            wanted = np.asarray(goal, np.float32)
        except (TypeError, ValueError):
            wanted = np.empty(0, np.float32)
        inside = wanted.shape == (2,) and (wanted >= _GOAL_LOW) & (wanted <= _GOAL_HIGH)
        if not np.all(inside):
            rule = "goal must be (return, drawdown) in [-1, 10] and [0, 1]"
            raise UserError(rule, was=goal, where="reset")
        return wanted
