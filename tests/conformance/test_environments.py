"""Every registered environment keeps the contracts of the interfaces it claims."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tradingbot.envs import EnvConfig, TradingEnv
from tradingbot.envs.registration import ENV_IDS, default_world
from tradingbot.market.params import EpisodeRules, SimulatorParams

HEADINGS = [
    "Description",
    "Action space",
    "Observation space",
    "Rewards",
    "Starting state",
    "Episode end",
    "Information",
    "Version history",
]
IDS = sorted(ENV_IDS)
FORMS = ("dict", "vectors", "flat")


def make(env_id: str, form: Any = "vectors", **arguments: Any) -> TradingEnv:
    config = EnvConfig(
        rules=SimulatorParams(episode=EpisodeRules(episode_bars=50)), observation=form
    )
    env = gym.make(env_id, config=config, **arguments).unwrapped
    assert isinstance(env, TradingEnv)
    return env


def digest(env_id: str, *, seed: int = 11, n_steps: int = 120) -> str:
    """Hash of everything that an environment returns over a few episodes of random actions."""
    env = make(env_id, "flat")
    env.action_space.seed(seed)
    hashed = hashlib.sha256()
    observation, info = env.reset(seed=seed)
    hashed.update(np.asarray(observation).tobytes() + repr(sorted(info.items())).encode())
    for _ in range(n_steps):
        observation, *rest = env.step(env.action_space.sample())
        hashed.update(np.asarray(observation).tobytes() + repr(rest).encode())
        if rest[1] or rest[2]:
            observation, info = env.reset()
            hashed.update(np.asarray(observation).tobytes() + repr(info).encode())
    return hashed.hexdigest()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("env_id", IDS)
def test_gymnasium_checker_is_content_without_a_warning(env_id: str, form: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(env_id, form), skip_render_check=form != "dict")


@pytest.mark.parametrize("form", ["vectors", "flat"])
@pytest.mark.parametrize("env_id", IDS)
def test_sb3_checker_is_content_without_a_warning(env_id: str, form: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(make(env_id, form, render_mode="ansi"), warn=True)


@pytest.mark.parametrize("env_id", IDS)
def test_sb3_checker_has_one_wish_about_a_window_matrix_and_no_other(env_id: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with pytest.warns(UserWarning, match="technical has an unconventional shape") as caught:
        checker.check_env(make(env_id, "dict"), warn=True)
    assert len(caught) == 1


@pytest.mark.parametrize("env_id", IDS)
def test_made_environment_has_the_action_space_of_its_id(env_id: str) -> None:
    env = gym.make(env_id)

    assert isinstance(env.unwrapped, TradingEnv)
    assert env.unwrapped.config.rules.action.space == ENV_IDS[env_id]
    assert env.unwrapped.world is default_world()
    assert gym.make(env_id, config="sleeve").unwrapped.config.rules.limits.max_position_frac == 1.0  # type: ignore[attr-defined]


def test_docstring_has_the_fixed_headings_and_names_every_id() -> None:
    text = TradingEnv.__doc__ or ""

    assert re.findall(r"^ *## (.+)$", text, re.MULTILINE) == HEADINGS
    for env_id in IDS:
        assert env_id in text
    version = re.search(r"\* (v\d+):", text.split("## Version history")[1])
    assert version is not None
    assert {env_id.rsplit("-", 1)[1] for env_id in IDS} == {version[1]}


def test_two_processes_with_one_seed_give_one_trajectory() -> None:
    code = (
        "import importlib.util;"
        f"spec = importlib.util.spec_from_file_location('conformance', {__file__!r});"
        "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module);"
        "print(*(module.digest(env_id) for env_id in module.IDS))"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )

    here = [digest(env_id) for env_id in IDS]
    assert elsewhere.stdout.split() == here
    assert len({*here, *(digest(env_id, seed=12) for env_id in IDS)}) == 2 * len(IDS)


@pytest.mark.parametrize("env_id", IDS)
def test_state_does_not_bleed_from_one_episode_into_the_next(env_id: str) -> None:
    used, fresh = make(env_id, "flat"), make(env_id, "flat")
    used.action_space.seed(3)
    used.reset(seed=5)
    for _ in range(20):
        used.step(used.action_space.sample())

    first, again = used.reset(seed=6), fresh.reset(seed=6)

    assert np.array_equal(np.asarray(first[0]), np.asarray(again[0]))
    assert first[1] == again[1]


@pytest.mark.parametrize("env_id", IDS)
def test_episode_is_truncated_after_its_bars_and_not_terminated(env_id: str) -> None:
    env = make(env_id)
    env.reset(seed=1)
    hold = 0 if ENV_IDS[env_id] == "discrete" else np.zeros(1, np.float32)
    ends = [env.step(hold)[2:4] for _ in range(50)]

    assert ends[:-1] == [(False, False)] * 49
    assert ends[-1] == (False, True)
