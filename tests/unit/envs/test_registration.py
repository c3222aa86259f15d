"""What ids are made with: a world and a configuration, and nothing that only looks like one."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

from fixtures.trading_worlds import short_config
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.envs.registration import ENV_IDS, VARIANT_IDS
from tradingbot.market.params import SimulatorParams

CURRICULUM = "TradingBot/Curriculum-v1"
IDS = [env_id for env_id in (*ENV_IDS, *VARIANT_IDS) if env_id != CURRICULUM]
WRONG: list[Any] = [{}, {"strict": True}, SimulatorParams(), 3]


@pytest.mark.parametrize("config", WRONG, ids=str)
@pytest.mark.parametrize("env_id", IDS)
def test_configuration_of_the_wrong_kind_is_refused(env_id: str, config: Any) -> None:
    with pytest.raises(ConfigError, match="config must be an EnvConfig or the name of a preset"):
        gym.make(env_id, config=config)


@pytest.mark.parametrize("config", [*WRONG, short_config(), "sleeve"], ids=lambda c: str(c)[:20])
def test_configuration_of_the_curriculum_of_the_wrong_kind_is_refused(config: Any) -> None:
    with pytest.raises(ConfigError, match=r"config must be a CurriculumConfig.*env=EnvConfig"):
        gym.make(CURRICULUM, config=config)


@pytest.mark.parametrize("env_id", IDS)
def test_world_by_name_is_refused_with_how_to_make_one(env_id: str) -> None:
    with pytest.raises(DataError, match=r"world must be a World, was 'planted'.*synthetic_world"):
        gym.make(env_id, world="planted")


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_vector_of_an_id_refuses_the_same(env_id: str) -> None:
    with pytest.raises(ConfigError, match="config must be an EnvConfig"):
        gym.make_vec(env_id, 2, config={})
    with pytest.raises(DataError, match="world must be a World"):
        gym.make_vec(env_id, 2, world="planted")
