"""SB3's interface: its algorithms run unchanged, and ends arrive as SB3 wants them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fixtures.trading_worlds import crashed, short_config, small_world
from tradingbot.domain.errors import UserError
from tradingbot.market.params import ActionSpace

sb3 = pytest.importorskip("stable_baselines3", reason="the extra `train` is not installed")
contrib = pytest.importorskip("sb3_contrib", reason="the extra `train` is not installed")

from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize  # noqa: E402

from tradingbot.envs.sb3 import TradingVecEnv  # noqa: E402


def tiny(**more: Any) -> dict[str, Any]:
    """A learner for tests; SB3 writes into `policy_kwargs`, so each gets its own."""
    return {"policy_kwargs": {"net_arch": [8]}, "device": "cpu", "seed": 0} | more


def rollouts(**more: Any) -> dict[str, Any]:
    return tiny(n_steps=16, batch_size=32, n_epochs=1, **more)


def vec_env(
    space: ActionSpace = "continuous", n: int = 4, form: str = "flat", **options: Any
) -> TradingVecEnv:
    config = replace(short_config(space), observation=form)  # type: ignore[arg-type]
    return TradingVecEnv(small_world(), config, n, compile=False, **options)


@pytest.mark.parametrize(
    ("policy", "space", "form"),
    [
        ("MlpPolicy", "continuous", "flat"),
        ("MultiInputPolicy", "continuous", "dict"),
        ("MlpPolicy", "discrete", "flat"),
    ],
)
def test_ppo_learns_on_it_and_sees_its_episodes(policy: str, space: ActionSpace, form: str) -> None:
    learner = sb3.PPO(policy, vec_env(space, form=form), **rollouts())

    learner.learn(256)

    assert learner.num_timesteps == 256
    assert {int(episode["l"]) for episode in learner.ep_info_buffer} == {12}


def test_sac_learns_on_it_and_stores_the_observation_before_the_reset() -> None:
    env = vec_env("continuous")
    learner = sb3.SAC(
        "MlpPolicy", env, learning_starts=40, batch_size=16, buffer_size=400, **tiny()
    )

    learner.learn(200)

    buffer = learner.replay_buffer
    ended = buffer.timeouts[: buffer.pos].astype(bool)
    assert ended.sum() == 16  # 50 steps, 4 lanes, every twelfth the last
    following = buffer.observations[1 : buffer.pos]
    stored = buffer.next_observations[: buffer.pos - 1]
    same = (following == stored).all(-1)
    assert np.array_equal(same, ~ended[:-1])


def test_maskable_ppo_never_asks_for_what_the_mask_forbids() -> None:
    env = vec_env("discrete")
    learner = contrib.MaskablePPO("MlpPolicy", env, **rollouts())

    learner.learn(256)

    allowed = learner.rollout_buffer.action_masks.astype(bool)
    taken = learner.rollout_buffer.actions.astype(int)
    assert np.take_along_axis(allowed, taken, axis=-1).all()
    assert not allowed.all()


def test_masking_is_offered_for_discrete_actions_only() -> None:
    discrete = vec_env("discrete")
    discrete.reset()

    assert discrete.has_attr("action_masks")
    assert not vec_env("continuous").has_attr("action_masks")
    chosen = discrete.env_method("action_masks", indices=[2, 0])
    assert np.array_equal(chosen, discrete.action_masks()[[2, 0]])


def test_end_of_an_episode_is_told_as_sb3_wants_it() -> None:
    env = vec_env()
    env.seed(3)
    env.reset()
    total = np.zeros(4)
    for bar in range(12):
        observation, rewards, ended, infos = env.step(np.full((4, 1), 0.9, np.float32))
        total += rewards
        assert ended.all() == (bar == 11)

    for lane, info in enumerate(infos):
        assert info["TimeLimit.truncated"] is True
        assert info["episode"]["l"] == 12
        assert info["episode"]["r"] == pytest.approx(total[lane])
        assert env.observation_space.contains(info["terminal_observation"])
        assert not np.array_equal(info["terminal_observation"], observation[lane])


def test_episode_statistics_begin_anew_with_each_episode() -> None:
    env = vec_env()
    env.seed(3)
    env.reset()
    total = np.zeros(4)
    for bar in range(24):
        _, rewards, ended, infos = env.step(np.full((4, 1), 0.9, np.float32))
        total = rewards.astype(float) if bar == 12 else total + rewards

    assert ended.all()
    assert [info["episode"]["r"] for info in infos] == pytest.approx(total.tolist())
    assert [info["episode"]["l"] for info in infos] == [12] * 4


def test_ruin_is_not_told_as_a_time_limit() -> None:
    world = small_world()
    config = replace(short_config("target", smoothing_bars=1), starts="first")
    bar = int(world.usable.any(0).argmax())
    env = TradingVecEnv(crashed(world, 1, bar + 4), config, 12, compile=False)
    env.seed(0)
    env.reset()
    for _ in range(11):
        _, _, ended, infos = env.step(np.ones((12, 1), np.float32))
        if ended.any():
            break

    assert 0 < ended.sum() < 12
    assert all(info["TimeLimit.truncated"] is False for info in infos if info)
    assert [bool(info) for info in infos] == ended.tolist()


def test_infos_written_by_a_wrapper_stay_with_their_lane_and_step() -> None:
    env = vec_env()
    env.reset()
    *_, infos = env.step(np.zeros((4, 1), np.float32))
    infos[1]["mine"] = 1
    *_, later = env.step(np.zeros((4, 1), np.float32))

    assert [len(info) for info in infos] == [0, 1, 0, 0]
    assert later == [{}, {}, {}, {}]


def test_observations_of_earlier_steps_are_not_overwritten() -> None:
    env = vec_env()
    first = env.reset()
    kept = first.copy()
    env.step(np.ones((4, 1), np.float32))

    assert np.array_equal(first, kept)


def test_sb3_wrappers_normalise_and_monitor_it() -> None:
    env = VecNormalize(vec_env())
    learner = sb3.PPO("MlpPolicy", env, **rollouts())

    learner.learn(128)

    with pytest.warns(UserWarning, match="already wrapped"):
        monitored = VecMonitor(vec_env())
    monitored.reset()
    for _ in range(12):
        *_, infos = monitored.step(np.zeros((4, 1), np.float32))
    assert [info["episode"]["l"] for info in infos] == [12] * 4


def test_evaluate_policy_reads_whole_episodes_without_a_warning() -> None:
    learner = sb3.PPO("MlpPolicy", vec_env(), **rollouts())

    rewards, lengths = evaluate_policy(
        learner, vec_env(), n_eval_episodes=6, return_episode_rewards=True
    )

    assert lengths == [12] * 6
    assert len(rewards) == 6


def test_seed_repeats_the_course_and_the_learner() -> None:
    courses = []
    for seed in (1, 1, 2):
        learner = sb3.PPO("MlpPolicy", vec_env(), **rollouts(seed=seed))
        learner.learn(128)
        courses.append(learner.rollout_buffer.observations.copy())

    assert np.array_equal(courses[0], courses[1])
    assert not np.array_equal(courses[0], courses[2])


def test_step_wait_without_actions_is_refused() -> None:
    env = vec_env()
    env.reset()

    with pytest.raises(UserError, match="step_async must be called"):
        env.step_wait()


def test_attributes_belong_to_all_lanes_and_cannot_be_set_for_one() -> None:
    env = vec_env()

    assert env.get_attr("num_envs", [0, 1]) == [4, 4]
    with pytest.raises(AttributeError, match="cannot be set lane by lane"):
        env.set_attr("num_envs", 3, indices=0)
    with pytest.raises(AttributeError, match="action_masks only, not fly"):
        env.env_method("fly")


def test_options_of_reset_are_refused_and_none_is_none() -> None:
    env = vec_env()
    env.set_options(None)
    env.set_options([{} for _ in range(4)])

    for options in ({"bar": 300}, [{}, {"symbol": "S001"}, {}, {}]):
        with pytest.raises(UserError, match="options must be empty"):
            env.set_options(options)  # type: ignore[arg-type]


def test_reset_tells_every_lane_where_orders_fill() -> None:
    env = vec_env()
    env.reset()

    assert env.reset_infos == [{"fill_at": "next_open"}] * 4


@pytest.mark.parametrize("n", ["4", 1.5, None, 0])
def test_number_of_environments_that_is_none_is_refused(n: Any) -> None:
    with pytest.raises(UserError, match="must be a whole number, 1 or more"):
        vec_env(n=n)
