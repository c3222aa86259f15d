"""Pickled environments go on where they were, step for step."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from fixtures.trading_worlds import short_config, small_world
from tradingbot.envs import TradingEnv
from tradingbot.envs.curriculum.env import CurriculumConfig, CurriculumEnv
from tradingbot.envs.goal import GoalEnv
from tradingbot.envs.hybrid import HybridEnv
from tradingbot.envs.single_observation import make_observer

N_STEPS = 20  # over the end of an episode of 12

MAKERS: dict[str, Callable[[], gym.Env[Any, Any]]] = {
    "trading": lambda: TradingEnv(small_world(), short_config(), render_mode="ansi"),
    "discrete": lambda: TradingEnv(small_world(), short_config("discrete")),
    "goal": lambda: GoalEnv(small_world(), short_config()),
    "hybrid": lambda: HybridEnv(small_world(), short_config(smoothing_bars=1)),
    "curriculum": lambda: CurriculumEnv(CurriculumConfig(short_config(), n_bars=420)),
    "made": lambda: gym.make("TradingBot/Discrete-v1", config=short_config("discrete")),
}


def course(env: gym.Env[Any, Any], actions: list[Any]) -> list[Any]:
    """What an environment answers to actions, over the ends of episodes."""
    answers: list[Any] = []
    for action in actions:
        answers.append(env.step(action))
        if answers[-1][2] or answers[-1][3]:
            answers.append(env.reset())
    return answers


@pytest.mark.parametrize("name", MAKERS)
def test_pickled_environment_goes_on_identically(name: str) -> None:
    env = MAKERS[name]()
    env.reset(seed=3)
    env.action_space.seed(1)
    course(env, [env.action_space.sample() for _ in range(5)])

    twin = pickle.loads(pickle.dumps(env))
    actions = [env.action_space.sample() for _ in range(N_STEPS)]

    expected = course(env, actions)
    np.testing.assert_equal(course(twin, actions), expected)
    if env.render_mode:
        assert twin.render() == env.render()


def test_deep_copy_shares_the_functions_that_have_no_state() -> None:
    observe = make_observer(small_world(), short_config())

    assert copy.deepcopy(observe) is observe
