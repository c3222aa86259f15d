"""The goal-conditioned environment: what is achieved is measured, and HER can use it unchanged."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as check_gymnasium

from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.domain.seeding import stream
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.goal import GoalEnv, draw_goal
from tradingbot.market import EpisodeRules, SimulatorParams
from tradingbot.market.goals import GoalRules, goal_reward, meets_goal
from tradingbot.risk.limits import RiskLimits

CONFIG = EnvConfig(
    rules=SimulatorParams(
        limits=RiskLimits(max_position_frac=1.0),
        episode=EpisodeRules(episode_bars=60, window_bars=4),
    )
)


@pytest.fixture(scope="module")
def world():
    return synthetic_world("hidden_trend", n_symbols=2, n_bars=500, seed=2, vol_frac=0.01)


@pytest.mark.parametrize(
    ("achieved", "desired", "met"),
    [
        ((0.02, 0.01), (0.01, 0.02), True),
        ((0.01, 0.02), (0.01, 0.02), True),  # equality is enough
        ((0.009, 0.02), (0.01, 0.02), False),
        ((0.02, 0.021), (0.01, 0.02), False),
    ],
)
def test_meets_goal_hand_computed(achieved, desired, met):
    a, d = np.float32(achieved), np.float32(desired)
    assert bool(meets_goal(a, d)) == met
    assert float(goal_reward(GoalRules(), a, d)) == (0.0 if met else -1.0)


def test_goal_reward_dense_hand_computed():
    rules = GoalRules((0.0, 0.02), (0.0, 0.05), reward="dense")
    # 0.5 % of 2 % missing, 1 % of 5 % too deep: −(0.25 + 0.2).
    assert float(goal_reward(rules, np.array([0.005, 0.03]), np.array([0.01, 0.02]))) == (
        pytest.approx(-0.45)
    )
    assert float(goal_reward(rules, np.array([-1.0, 1.0]), np.array([0.01, 0.02]))) == -1.0
    assert float(goal_reward(rules, np.array([0.5, 0.0]), np.array([0.01, 0.02]))) == 0.0


def test_goal_reward_partial_counts_what_is_missing_in_units_of_credit_hand_computed():
    rules = GoalRules((0.0, 0.02), (0.0, 0.10), reward="partial")
    # 1 % of 5 % missing and nothing too deep; then 1 % too deep as well, whatever the ranges are.
    assert float(goal_reward(rules, np.array([0.0, 0.02]), np.array([0.01, 0.02]))) == (
        pytest.approx(-0.2)
    )
    assert float(goal_reward(rules, np.array([0.0, 0.03]), np.array([0.01, 0.02]))) == (
        pytest.approx(-0.4)
    )
    assert float(goal_reward(rules, np.array([-0.05, 0.02]), np.array([0.01, 0.02]))) == -1.0
    assert float(goal_reward(rules, np.array([0.01, 0.02]), np.array([0.01, 0.02]))) == 0.0
    half = replace(rules, credit_range_frac=0.02)
    assert float(goal_reward(half, np.array([0.0, 0.02]), np.array([0.01, 0.02]))) == (
        pytest.approx(-0.5)
    )


@pytest.mark.parametrize("form", ["sparse", "dense", "partial"])
def test_compute_reward_batch_equals_one_by_one(world, form):
    env = GoalEnv(world, CONFIG, GoalRules(reward=form))
    rng = stream(3, "test", "goals")
    achieved = rng.uniform(-0.05, 0.05, (100, 2)).astype(np.float32)
    desired = rng.uniform(0.0, 0.05, (100, 2)).astype(np.float32)
    batch = env.compute_reward(achieved, desired, [{}] * 100)
    assert batch.shape == (100,)
    assert batch.tolist() == [
        float(env.compute_reward(a, d, {})) for a, d in zip(achieved, desired, strict=True)
    ]


def test_step_achieved_goal_is_return_and_largest_drawdown(world):
    env = GoalEnv(world, CONFIG)
    rng = stream(5, "test", "actions")
    depths = []
    for seed in (4, None, None):  # three episodes: nothing is carried over
        env.reset(seed=seed)
        equities, ended = [100_000.0], False
        while not ended:
            observation, reward, terminated, truncated, info = env.step(
                rng.uniform(-0.2, 1, 1).astype(np.float32)
            )
            equities.append(info["equity"])
            curve = np.array(equities)
            depth = (1.0 - curve / np.maximum.accumulate(curve)).max()
            achieved = observation["achieved_goal"]
            expected = [curve[-1] / 1e5 - 1.0, depth]
            np.testing.assert_allclose(achieved, expected, rtol=1e-5, atol=1e-7)
            assert reward == env.compute_reward(achieved, observation["desired_goal"], info)
            assert info["reward_terms"] == {"goal": reward}
            assert info["is_success"] == (reward == 0.0)
            ended = terminated or truncated
        depths.append((depth, curve.max()))
    assert min(depth for depth, _ in depths) > 0.0
    assert max(peak for _, peak in depths[:2]) > 100_500.0  # else nothing could be carried over


def test_hindsight_own_achievement_as_goal_is_success(world):
    """Relabelling a step with what it achieved must reward it: that is all HER rests on."""
    env = GoalEnv(world, CONFIG)
    env.reset(seed=6)
    for _ in range(30):
        observation, *_, info = env.step(np.array([0.7], np.float32))
        achieved = observation["achieved_goal"]
        assert float(env.compute_reward(achieved, achieved, info)) == 0.0


def test_draw_goal_by_seed_and_episode_within_ranges(world):
    rules = GoalRules((0.01, 0.03), (0.02, 0.04))
    goals = np.array([draw_goal(rules, 7, episode) for episode in range(200)])
    assert (goals >= np.float32([0.01, 0.02])).all()
    assert (goals <= np.float32([0.03, 0.04])).all()
    assert len(np.unique(goals[:, 0])) == 200
    np.testing.assert_array_equal(draw_goal(rules, 7, 3), goals[3])
    env = GoalEnv(world, CONFIG, rules)
    first, _ = env.reset(seed=7)
    second, _ = env.reset()
    np.testing.assert_array_equal(first["desired_goal"], goals[0])
    np.testing.assert_array_equal(second["desired_goal"], goals[1])


def test_reset_goal_option_sets_goal_and_keeps_other_options(world):
    env = GoalEnv(world, CONFIG)
    observation, info = env.reset(seed=1, options={"goal": (0.05, 0.1), "symbol": "S001"})
    np.testing.assert_array_equal(observation["desired_goal"], np.float32([0.05, 0.1]))
    assert info["symbol"] == "S001"


@pytest.mark.parametrize("goal", [0.1, (0.1,), (0.1, 2.0), (float("nan"), 0.1), "rich"])
def test_reset_impossible_goal_is_refused(world, goal):
    with pytest.raises(UserError, match="goal must be"):
        GoalEnv(world, CONFIG).reset(seed=1, options={"goal": goal})


def test_rules_impossible_ranges_are_refused():
    with pytest.raises(ConfigError, match="drawdown_range_frac"):
        GoalRules(drawdown_range_frac=(0.5, 0.1))
    with pytest.raises(ConfigError, match="reward must be"):
        GoalRules(reward="lavish")


def test_goal_env_passes_the_checkers(world):
    from stable_baselines3.common.env_checker import check_env as check_sb3

    check_gymnasium(GoalEnv(world, CONFIG), skip_render_check=True)
    check_sb3(GoalEnv(world, CONFIG))


@pytest.mark.parametrize("algorithm", ["SAC", "DDPG"])
def test_sb3_with_hindsight_replay_runs_unchanged(world, algorithm):
    import stable_baselines3 as sb3

    goals = GoalRules(return_range_frac=(0.5, 0.6))
    env = gym.make("TradingBot/Goal-v1", world=world, config=CONFIG, goals=goals)
    learner = getattr(sb3, algorithm)(
        "MultiInputPolicy",
        env,
        replay_buffer_class=sb3.HerReplayBuffer,
        replay_buffer_kwargs={"n_sampled_goal": 4, "goal_selection_strategy": "future"},
        buffer_size=1000,
        learning_starts=70,
        batch_size=32,
        train_freq=(8, "step"),
        policy_kwargs={"net_arch": [16]},
        seed=0,
    )
    learner.learn(300)
    assert learner.num_timesteps >= 300
    sampled = learner.replay_buffer.sample(512)
    # Far goals are never met in fact: whatever is rewarded here was relabelled in hindsight.
    assert float(learner.replay_buffer.rewards[:300].max()) == -1.0
    assert float((sampled.rewards == 0.0).float().mean()) > 0.05


def test_id_makes_the_environment():
    env = gym.make("TradingBot/Goal-v1")
    assert isinstance(env.unwrapped, GoalEnv)
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    env.step(env.action_space.sample())


def test_reset_that_fails_keeps_the_seed(world):
    env, same = GoalEnv(world, CONFIG), GoalEnv(world, CONFIG)
    env.reset(seed=4)
    same.reset(seed=4)

    with pytest.raises(UserError):
        env.reset(seed=9, options={"bar": 10**6})

    np.testing.assert_equal(env.reset(), same.reset())


def test_goals_of_the_wrong_kind_are_refused(world):
    with pytest.raises(ConfigError, match="goals must be GoalRules, was tuple"):
        GoalEnv(world, CONFIG, (0.1, 0.1))
