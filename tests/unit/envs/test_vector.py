"""Gymnasium's vector interface: same-step autoreset as Gymnasium defines it, ids, spaces."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from fixtures.trading_worlds import crashed, short_config, small_world
from tradingbot.domain.errors import UserError
from tradingbot.envs.single import TradingEnv
from tradingbot.envs.vector import TradingVectorEnv
from tradingbot.market.params import ActionSpace

B = 4


@pytest.mark.parametrize("space", ["continuous", "target", "discrete"])
@pytest.mark.parametrize("form", ["flat", "dict"])
def test_vector_samples_of_its_spaces_give_observations_of_its_spaces(
    space: ActionSpace, form: str
) -> None:
    env = TradingVectorEnv(small_world(), replace(short_config(space), observation=form), B)  # type: ignore[arg-type]
    observation, _ = env.reset(seed=1)
    env.action_space.seed(1)
    assert env.observation_space.contains(observation)
    for _ in range(14):
        observation, rewards, terminated, truncated, _ = env.step(env.action_space.sample())
        assert env.observation_space.contains(observation)
        assert rewards.shape == terminated.shape == truncated.shape == (B,)
        assert rewards.dtype == np.float64
        assert terminated.dtype == truncated.dtype == np.bool_


def test_vector_infos_have_the_keys_and_shapes_of_gymnasiums_own_vector() -> None:
    world, config = small_world(), short_config(episode_bars=5)
    ours = TradingVectorEnv(world, config, B)
    theirs = SyncVectorEnv(
        [lambda: TradingEnv(world, config)] * B, autoreset_mode=AutoresetMode.SAME_STEP
    )
    for env in (ours, theirs):
        env.reset(seed=1)
    for _ in range(5):
        *_, our_infos = ours.step(np.zeros((B, 1), np.float32))
        *_, their_infos = theirs.step(np.zeros((B, 1), np.float32))

    assert ours.metadata["autoreset_mode"] is theirs.metadata["autoreset_mode"]
    for key in ("final_obs", "_final_obs", "_final_info", "equity"):
        assert our_infos[key].shape == their_infos[key].shape, key
        assert our_infos[key].dtype == their_infos[key].dtype or key == "equity", key
    assert isinstance(our_infos["final_info"], dict)
    shared = ("equity", "_equity")
    assert all(our_infos["final_info"][key].shape == (B,) for key in shared)
    assert all(key in their_infos["final_info"] for key in shared)


def test_vector_end_keeps_the_last_observation_and_returns_the_first_of_the_next() -> None:
    env = TradingVectorEnv(small_world(), short_config(), B)
    env.reset(seed=1)
    for _ in range(11):
        *_, infos = env.step(np.full((B, 1), 0.9, np.float32))
        assert "final_obs" not in infos
    observation, _, terminated, truncated, infos = env.step(np.full((B, 1), 0.9, np.float32))
    restarted = TradingVectorEnv(small_world(), short_config(), B)
    restarted.simulator.reset(seed=1, episode=1)

    assert truncated.all()
    assert not terminated.any()
    assert np.array_equal(observation, restarted.simulator.observe().numpy())  # type: ignore[union-attr]
    final = np.stack(list(infos["final_obs"]))
    assert env.single_observation_space.contains(final[0])
    assert not np.array_equal(final, observation)
    assert infos["final_info"]["steps"].tolist() == [12] * B
    assert not np.array_equal(infos["final_info"]["equity"], infos["equity"])


def test_vector_one_lane_ruined_marks_that_lane_alone() -> None:
    world = small_world()
    config = replace(short_config("target", smoothing_bars=1), starts="first")
    bar = int(world.usable.any(0).argmax())
    env = TradingVectorEnv(crashed(world, 1, bar + 4), config, 12)
    env.reset(seed=0)
    symbol = (env.simulator.account.row // world.n_bars).numpy()
    assert set(symbol) == {0, 1, 2}
    for _ in range(11):
        _, rewards, terminated, truncated, infos = env.step(np.ones((12, 1), np.float32))
        assert np.isfinite(rewards).all()
        if terminated.any():
            break

    assert np.array_equal(terminated, symbol == 1)
    assert not truncated.any()
    assert np.array_equal(infos["_final_obs"], terminated)
    assert [last is None for last in infos["final_obs"]] == (~terminated).tolist()
    assert (infos["final_info"]["equity"][terminated] < 80_000).all()
    assert (infos["final_info"]["equity"][~terminated] == 0).all()


def test_vector_reward_terms_sum_to_the_reward() -> None:
    env = TradingVectorEnv(small_world(), short_config(), B, dtype=torch.float64)
    env.reset(seed=1)
    _, rewards, _, _, infos = env.step(np.full((B, 1), 0.9, np.float32))

    assert np.allclose(infos["reward_terms"].sum(1), rewards, rtol=0, atol=1e-15)
    assert infos["reward_terms"].shape[0] == B


def test_vector_runs_under_gymnasiums_statistics() -> None:
    env = RecordEpisodeStatistics(TradingVectorEnv(small_world(), short_config(), B))
    env.reset(seed=1)
    for _ in range(12):
        *_, infos = env.step(np.zeros((B, 1), np.float32))

    assert infos["episode"]["l"].tolist() == [12] * B


@pytest.mark.parametrize("env_id", ["TradingBot/Continuous-v1", "TradingBot/Discrete-v1"])
def test_make_vec_of_an_id_gives_the_batched_environment(env_id: str) -> None:
    env = gym.make_vec(env_id, num_envs=3, config="short_episodes")
    env.reset(seed=0)
    env.action_space.seed(0)

    assert isinstance(env, TradingVectorEnv)
    assert env.step(env.action_space.sample())[1].shape == (3,)


def test_vector_masks_are_those_of_discrete_actions() -> None:
    env = TradingVectorEnv(small_world(), short_config("discrete"), B)
    env.reset(seed=1)
    assert env.action_masks().shape == (B, 7)

    continuous = TradingVectorEnv(small_world(), short_config(), B)
    continuous.reset(seed=1)
    with pytest.raises(UserError, match="discrete"):
        continuous.action_masks()


def test_vector_reset_with_options_is_refused() -> None:
    with pytest.raises(UserError, match="options must be empty, was 'bar'"):
        TradingVectorEnv(small_world(), short_config(), B).reset(seed=1, options={"bar": 7})


def test_vector_reset_tells_where_orders_fill() -> None:
    config = short_config()
    episode = replace(config.rules.episode, fill_at="this_close")
    seen = replace(config, rules=replace(config.rules, episode=episode))

    for each, word in ((config, "next_open"), (seen, "this_close")):
        infos = TradingVectorEnv(small_world(), each, 3, compile=False).reset(seed=1)[1]
        assert infos["fill_at"].tolist() == [word] * 3
        assert infos["_fill_at"].all()


def test_vector_reset_with_a_list_of_seeds_is_refused() -> None:
    env = TradingVectorEnv(small_world(), short_config(), 2, compile=False)

    with pytest.raises(UserError, match=r"seed must be one whole number, .*was \[1, 2\]"):
        env.reset(seed=[1, 2])  # type: ignore[arg-type]
