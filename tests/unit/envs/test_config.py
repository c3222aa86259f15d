"""Configurations of environments: presets, words that are refused, where episodes may begin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.envs import ENV_PRESETS, EnvConfig, World, synthetic_world
from tradingbot.envs.config import start_mask
from tradingbot.market.costs import cost_profile
from tradingbot.market.params import EpisodeRules, SimulatorParams
from tradingbot.rewards import RewardConfig, reward_preset


@pytest.fixture(scope="module")
def world() -> World:
    return synthetic_world(n_symbols=2, n_bars=400, seed=2)


def test_preset_can_be_changed_in_part() -> None:
    config = EnvConfig.preset("sleeve", observation="flat", strict=True)

    assert config.rules.limits.max_position_frac == 1.0
    assert config.observation == "flat"
    assert config.strict
    assert ENV_PRESETS["sleeve"].observation == "vectors"


@pytest.mark.parametrize("name", sorted(ENV_PRESETS))
def test_every_preset_can_be_played_in_continuous_and_target_space(name: str) -> None:
    for space in ("continuous", "target"):
        assert EnvConfig.preset(name).with_space(space).rules.action.space == space


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EnvConfig.preset("sleve"), "Did you mean 'sleeve'"),
        (lambda: EnvConfig.preset("default", observtion="flat"), "Did you mean 'observation'"),
        (lambda: EnvConfig(observation="flt"), "Did you mean 'flat'"),  # type: ignore[arg-type]
        (lambda: EnvConfig(starts="frist"), "Did you mean 'first'"),  # type: ignore[arg-type]
        (lambda: EnvConfig(reward="v13"), "reward must be a known one"),
        (lambda: EnvConfig.preset("long_short").with_space("discrete"), "allow_short"),
    ],
)
def test_word_that_means_nothing_is_refused(make: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rules": EpisodeRules()}, "rules must be SimulatorParams, was EpisodeRules"),
        ({"rules": None}, r"rules must be SimulatorParams, was None \(EnvConfig.rules\)"),
        (
            {"reward": None},
            "reward must be str or RewardConfig or RewardStack or PotentialShaping, was",
        ),
        ({"costs": 0.001}, "costs must be CostProfile, was 0.001"),
        ({"costs": "retial"}, "cost profile must be known.*Did you mean 'retail'"),
        ({"strict": "no"}, "strict must be bool, was 'no'"),
    ],
)
def test_field_of_the_wrong_kind_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        EnvConfig(**fields)


def test_costs_by_name_are_the_profile() -> None:
    assert EnvConfig(costs="retail").costs == cost_profile("retail")  # type: ignore[arg-type]


def test_reward_can_be_a_name_a_configuration_or_a_stack() -> None:
    stack = reward_preset("log_growth")
    changed = RewardConfig("v31", weights={"hold": 0.1})

    assert EnvConfig(reward="log_growth").reward_stack.names == stack.names
    assert EnvConfig(reward=stack).reward_stack is stack
    assert "hold" in EnvConfig(reward=changed).reward_stack.names


def test_random_starts_have_a_window_before_and_an_episode_after(world: World) -> None:
    config = EnvConfig(
        rules=SimulatorParams(episode=EpisodeRules(episode_bars=100, window_bars=24))
    )

    bars = np.flatnonzero(start_mask(world, config)[0])

    assert bars[0] == 191  # every feature is defined from there on
    assert bars[-1] + 100 == world.n_bars - 1


def test_first_starts_are_one_bar_of_each_symbol(world: World) -> None:
    late = world.usable.copy()
    late[1, :250] = False
    config = EnvConfig(
        rules=SimulatorParams(episode=EpisodeRules(episode_bars=100)), starts="first"
    )

    mask = start_mask(replace(world, usable=late), config)

    assert [row.tolist() for row in np.argwhere(mask)] == [[0, 191], [1, 250]]


def test_symbol_without_any_start_is_left_out_of_first_starts(world: World) -> None:
    never = world.usable.copy()
    never[0] = False
    config = EnvConfig(
        rules=SimulatorParams(episode=EpisodeRules(episode_bars=100)), starts="first"
    )

    mask = start_mask(replace(world, usable=never), config)

    assert [row.tolist() for row in np.argwhere(mask)] == [[1, 191]]


def test_episode_longer_than_the_data_is_refused_with_a_remedy(world: World) -> None:
    with pytest.raises(DataError, match="shorter window_bars or episode_bars"):
        start_mask(world, EnvConfig())  # 512 bars of 400
    with pytest.raises(DataError, match="a window of 500"):
        start_mask(world, EnvConfig(rules=SimulatorParams(episode=EpisodeRules(window_bars=500))))
