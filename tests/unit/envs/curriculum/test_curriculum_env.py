"""The curriculum environment: markets, costs and difficulty follow the learner's progress."""

from __future__ import annotations

import json
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as check_gymnasium

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.curriculum.env import (
    CurriculumConfig,
    CurriculumEnv,
    Progress,
    progress_after,
    stage_costs,
    stage_world,
)
from tradingbot.market import EpisodeRules, SimulatorParams
from tradingbot.market.curriculum.difficulty import DifficultyRules, DifficultyState
from tradingbot.market.curriculum.stages import STAGES, CurriculumState, EpisodeResult, PassRule

SHORT = EnvConfig(rules=SimulatorParams(episode=EpisodeRules(episode_bars=20, window_bars=8)))
ANYTHING_PASSES = tuple(
    replace(stage, min_sharpe=-1e9, min_trades=0, min_win_rate_frac=0.0) for stage in STAGES
)
NOTHING_PASSES = tuple(replace(stage, min_trades=10_000) for stage in STAGES)


def config_of(**changes) -> CurriculumConfig:
    small = CurriculumConfig(
        env=SHORT,
        stages=ANYTHING_PASSES,
        rule=PassRule(min_episodes=4, recent_episodes=2),
        n_symbols=1,
        n_bars=420,
    )
    return replace(small, **changes)


def play_episode(env, seed=None, number=0.5):
    env.reset(seed=seed)
    ended = False
    while not ended:
        _, _, terminated, truncated, info = env.step(np.array([number], np.float32))
        ended = terminated or truncated
    return info


def test_env_success_climbs_every_stage_with_its_costs_and_markets():
    env = CurriculumEnv(config_of())
    infos = [play_episode(env, seed=1)] + [play_episode(env) for _ in range(19)]
    assert [info["curriculum"]["stage"] for info in infos] == [i // 4 for i in range(20)]
    assert infos[-1]["curriculum"]["completed"]
    assert infos[3]["curriculum"]["next_stage"] == 1
    assert env.trading.config.costs == STAGES[-1].costs
    assert "stage 5 (realistic)" in env.trading.world.label
    assert env.trading.world.synthetic


def test_env_failure_stays_in_the_first_stage():
    env = CurriculumEnv(config_of(stages=NOTHING_PASSES))
    infos = [play_episode(env) for _ in range(8)]
    assert {info["curriculum"]["stage"] for info in infos} == {0}
    assert not any(info["curriculum"]["success"] for info in infos)
    assert infos[-1]["curriculum"]["recent_success_frac"] == 0.0


def test_env_stage_changes_at_reset_only():
    env = CurriculumEnv(config_of())
    for _ in range(4):
        play_episode(env)
    assert env.stage.name == STAGES[1].name
    assert env.trading.config.costs == STAGES[0].costs  # of the episode that has just ended
    env.reset()
    assert env.trading.config.costs == STAGES[1].costs


def test_env_same_seed_and_progress_same_episodes():
    def run():
        env = CurriculumEnv(config_of())
        infos = [play_episode(env, seed=3)] + [play_episode(env) for _ in range(6)]
        return [(info["equity"], info["bar"], info["price"]) for info in infos]

    assert run() == run()


def test_env_continues_from_stored_progress():
    env = CurriculumEnv(config_of())
    for _ in range(6):
        play_episode(env)
    stored = json.loads(json.dumps(env.progress.to_json()))
    again = CurriculumEnv(config_of(), progress=Progress.from_json(stored))
    assert again.progress == env.progress
    assert play_episode(again, seed=9)["equity"] == play_episode(env, seed=9)["equity"]


def test_env_market_is_generated_anew():
    env = CurriculumEnv(config_of(stages=NOTHING_PASSES, episodes_per_world=2))
    labels = []
    for _ in range(5):
        env.reset()
        labels.append(env.trading.world.prices[0, 0, 0])
        play_episode(env)
    assert len(set(labels)) >= 3


@pytest.mark.parametrize("number", range(5))
def test_stage_world_has_the_volatility_of_its_stage(number):
    config = CurriculumConfig(n_symbols=4, n_bars=1500)
    world = stage_world(config, Progress(CurriculumState(stage=number)))
    close = world.prices[..., 3]
    stage = STAGES[number]
    claimed = stage.vol_frac * np.sqrt(1.0 + stage.trend_strength**2)
    assert (np.diff(close) / close[:, :-1]).std() == pytest.approx(claimed, rel=0.12)
    assert stage_costs(config, Progress(CurriculumState(stage=number))) == stage.costs


def test_difficulty_level_changes_market_and_spread():
    config = CurriculumConfig(difficulty=DifficultyRules(), n_symbols=2, n_bars=1200)
    easy, hard = (Progress(difficulty=DifficultyState(level=level)) for level in (0.0, 1.0))
    spreads = [stage_costs(config, progress).spread_frac for progress in (easy, hard)]
    assert spreads == [0.0, pytest.approx(30e-4)]

    def volatility(progress):
        close = stage_world(config, progress).prices[..., 3]
        return (np.diff(close) / close[:, :-1]).std()

    assert volatility(hard) > 3.0 * volatility(easy)


def test_progress_difficulty_rises_falls_and_starts_afresh_in_a_new_stage():
    rules = DifficultyRules(episodes_per_decision=2)
    config = config_of(
        stages=STAGES, difficulty=rules, rule=PassRule(min_episodes=9, recent_episodes=2)
    )
    good, bad = EpisodeResult(9.0, 1.0, 50, 0.1), EpisodeResult(-9.0, 0.0, 50, -0.1)
    progress, levels = Progress(), []
    for result in [good] * 4 + [bad] * 4:
        progress = progress_after(config, progress, result)
        levels.append(progress.difficulty.level)
    assert max(levels) == pytest.approx(0.2)
    assert levels[-1] < max(levels)
    for _ in range(2):
        progress = progress_after(config, progress, good)
    assert progress == Progress(CurriculumState(stage=1))


def test_env_with_difficulty_moves_while_it_plays():
    rules = DifficultyRules(
        episodes_per_decision=2,
        raise_return_frac=-0.9,
        raise_win_rate_frac=0.0,
        lower_return_frac=-0.95,
        lower_win_rate_frac=-1.0,
    )
    env = CurriculumEnv(
        config_of(difficulty=rules, rule=PassRule(min_episodes=50, recent_episodes=2))
    )
    levels = [play_episode(env)["curriculum"]["level"] for _ in range(6)]
    assert levels == pytest.approx([0.0, 0.1, 0.1, 0.2, 0.2, 0.3])
    env.reset()
    assert "trend clarity 0.79" in env.trading.world.label


def test_env_passes_the_checkers():
    from stable_baselines3.common.env_checker import check_env as check_sb3

    check_gymnasium(CurriculumEnv(config_of()), skip_render_check=True)
    flat = replace(SHORT, observation="flat")
    check_sb3(CurriculumEnv(config_of(env=flat)))


def test_env_beyond_its_stages_is_refused():
    with pytest.raises(ConfigError, match="stage must be one of the curriculum's"):
        CurriculumEnv(config_of(), progress=Progress(CurriculumState(stage=5)))


@pytest.mark.parametrize(
    "values", ["{}", [], None, {}, {"curriculum": {}}, {"curriculum": 1, "difficulty": 2}]
)
def test_progress_from_malformed_json_is_refused(values):
    with pytest.raises(ConfigError, match="to_json"):
        Progress.from_json(values)


def test_reset_that_fails_keeps_market_and_seed():
    env, same = CurriculumEnv(config_of()), CurriculumEnv(config_of())
    for each in (env, same):
        for _ in range(4):  # into the next stage: another market at the next reset
            play_episode(each, seed=4 if each._seed is None else None)
    with pytest.raises(DataError):
        env.reset(seed=9, options={"bar": 10**6})
    with pytest.raises(DataError):
        env.reset(options={"bar": 10**6})

    np.testing.assert_equal(env.reset(), same.reset())
    assert env.stage is ANYTHING_PASSES[1]


def test_env_of_the_wrong_kind_is_refused():
    with pytest.raises(ConfigError, match="env must be an EnvConfig, was sleeve"):
        config_of(env="sleeve")
    with pytest.raises(ConfigError, match="progress must be a Progress, was dict"):
        CurriculumEnv(config_of(), progress={})


def test_env_discrete_agent_has_masks():
    env = CurriculumEnv(config_of(env=SHORT.with_space("discrete")))
    env.reset(seed=1)
    assert env.action_masks().tolist() == [True, True, True, True, False, False, False]


def test_id_makes_the_environment():
    env = gym.make("TradingBot/Curriculum-v1")
    assert isinstance(env.unwrapped, CurriculumEnv)
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    env.step(env.action_space.sample())
