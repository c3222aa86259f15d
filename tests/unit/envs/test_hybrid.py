"""Discrete agents in the continuous environment: same bars, same fills, step for step."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env as check_gymnasium

from tradingbot.domain.action import Action
from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.domain.seeding import stream
from tradingbot.envs.batch import BatchSimulator
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.hybrid import HybridEnv, HybridSimulator
from tradingbot.envs.single import TradingEnv
from tradingbot.market import AccountRules, ActionRules, EpisodeRules, SimulatorParams
from tradingbot.risk.limits import RiskLimits

FILLS = ("fill", "fill_price", "exit_fill", "exit_price", "fees", "equity", "cash", "units")
SAME = ("symbol", "bar", "action", "violation", "denial", "exit_reason")


@pytest.fixture(scope="module")
def world():
    return synthetic_world("regimes", n_symbols=3, n_bars=700, seed=2)


def config_of(
    *, smoothing_bars: int = 1, observation: str = "dict", episode_bars: int = 150
) -> EnvConfig:
    rules = SimulatorParams(
        account=AccountRules(stop_loss_frac=0.03, take_profit_frac=0.05, max_holding_bars=40),
        limits=RiskLimits(max_position_frac=0.6, reserve_frac=0.01),
        action=ActionRules(smoothing_bars=smoothing_bars),
        episode=EpisodeRules(episode_bars=episode_bars),
    )
    return EnvConfig(rules=rules, observation=observation)


def policy_of(kind: str, seed: int):
    """A discrete policy that sees observation and mask."""
    rng = stream(seed, "test", kind)

    def random(_observation, _mask):
        return int(rng.integers(0, 7))

    def masked(_observation, mask):
        return int(rng.choice(np.flatnonzero(mask)))

    def looking(observation, mask):
        """Momentum with a look at its own last action and repeats."""
        score = observation["technical"][-1].sum() + 3.0 * observation["position"][-1]
        score += observation["portfolio"][8]
        allowed = np.flatnonzero(mask)
        return int(allowed[int(1e4 * abs(float(score))) % len(allowed)])

    return {"random": random, "masked": masked, "looking": looking}[kind]


@pytest.mark.parametrize("kind", ["random", "masked", "looking"])
def test_hybrid_discrete_policy_fills_as_in_discrete_env(world, kind):
    config = config_of()
    discrete = TradingEnv(world, config.with_space("discrete"))
    hybrid = HybridEnv(world, config)
    one_policy, other_policy = policy_of(kind, 5), policy_of(kind, 5)
    fills = 0
    for seed in range(2):
        one, _ = discrete.reset(seed=seed)
        other, _ = hybrid.reset(seed=seed)
        ended = False
        while not ended:
            mask, hybrid_mask = discrete.action_masks(), hybrid.action_masks()
            np.testing.assert_array_equal(mask, hybrid_mask)
            a, b = one_policy(one, mask), other_policy(other, hybrid_mask)
            assert a == b
            one, _, terminated, truncated, info = discrete.step(a)
            other, _, *ends, hybrid_info = hybrid.step(b)
            assert ends == [terminated, truncated]
            assert hybrid_info["translation_exact"]
            assert {name: hybrid_info[name] for name in SAME} == {name: info[name] for name in SAME}
            for name in FILLS:
                assert hybrid_info[name] == pytest.approx(info[name], rel=1e-9, abs=1e-9), name
            for name in one:
                np.testing.assert_allclose(other[name], one[name], rtol=1e-5, atol=1e-6)
            fills += info["fill"] != 0.0
            ended = terminated or truncated
        assert hybrid_info["summary"]["violations"] == info["summary"]["violations"]
    assert fills > 50


def test_hybrid_simulator_lanes_fill_as_discrete_lanes(world):
    config = config_of(observation="flat", episode_bars=45)
    options = {"dtype": torch.float64, "compile": False}
    discrete = BatchSimulator(world, config.with_space("discrete"), 12, **options)
    hybrid = HybridSimulator(world, config, 12, **options)
    discrete.reset(seed=3)
    hybrid.reset(seed=3)
    rng = stream(6, "test", "lanes")
    ends = 0
    for _ in range(60):
        codes = rng.integers(0, 7, 12)
        assert torch.equal(discrete.action_masks(), hybrid.action_masks())
        a, b = discrete.step(codes), hybrid.step(codes)
        torch.testing.assert_close(b.advanced.fill, a.advanced.fill, rtol=1e-9, atol=1e-9)
        assert torch.equal(a.truncated, b.truncated)
        assert torch.equal(a.account.repeats, b.account.repeats)
        assert torch.equal(a.account.violations, b.account.violations)
        torch.testing.assert_close(b.private, a.private, rtol=1e-7, atol=1e-9)
        torch.testing.assert_close(b.final_private, a.final_private, rtol=1e-7, atol=1e-9)
        torch.testing.assert_close(hybrid.observe(), discrete.observe(), rtol=1e-6, atol=1e-6)
        ends += int((a.truncated | a.terminated).sum())
    assert ends >= 12


def test_hybrid_continuous_agent_is_the_continuous_env(world):
    config = config_of(smoothing_bars=3)
    plain = TradingEnv(world, config.with_space("continuous"))
    hybrid = HybridEnv(world, config, agent_space="continuous")
    assert hybrid.action_space == plain.action_space
    plain.reset(seed=1)
    hybrid.reset(seed=1)
    rng = stream(7, "test", "numbers")
    for number in rng.uniform(-1, 1, 60):
        action = np.array([number], np.float32)
        one, other = plain.step(action), hybrid.step(action)
        assert one[1:4] == other[1:4]
        assert one[4] == other[4]


def test_hybrid_smoothed_says_where_it_is_not_exact(world):
    hybrid = HybridEnv(world, config_of(smoothing_bars=3))
    hybrid.reset(seed=1)
    hybrid.step(3)  # BUY_LARGE from rest: half of it is all that smoothing lets through
    *_, info = hybrid.step(0)
    assert info["translation_exact"]  # HOLD is reached
    assert info["fill"] == 0.0
    *_, info = hybrid.step(5)
    assert info["translated_action"] == -1.0
    assert not info["translation_exact"]


@pytest.mark.parametrize("agent_space", ["continuous", "discrete"])
def test_hybrid_passes_the_checkers(world, agent_space):
    from stable_baselines3.common.env_checker import check_env as check_sb3

    check_gymnasium(HybridEnv(world, config_of(), agent_space=agent_space), skip_render_check=True)
    # SB3's checker warns of any observation that is neither a row nor a picture.
    check_sb3(HybridEnv(world, config_of(observation="flat"), agent_space=agent_space))


def test_hybrid_unknown_space_is_refused(world):
    with pytest.raises(ConfigError, match="agent_space must be"):
        HybridEnv(world, agent_space="fuzzy")


def test_hybrid_discrete_short_account_is_refused(world):
    config = EnvConfig(rules=replace(config_of().rules, limits=RiskLimits(allow_short=True)))
    with pytest.raises(ConfigError, match="allow_short must be false"):
        HybridEnv(world, config)
    HybridEnv(world, config, agent_space="continuous")


def test_hybrid_step_before_reset_and_masks_of_continuous_are_refused(world):
    hybrid = HybridEnv(world, config_of())
    with pytest.raises(UserError, match="must begin"):
        hybrid.step(0)
    with pytest.raises(UserError, match="masks"):
        HybridEnv(world, config_of(), agent_space="continuous").action_masks()


def test_id_makes_the_environment():
    env = gym.make("TradingBot/Hybrid-v1")
    assert isinstance(env.unwrapped, HybridEnv)
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    env.step(env.action_space.sample())


@pytest.mark.parametrize("config", [None, "sleeve"])
def test_registered_hybrid_executes_codes_at_once(config: str | None) -> None:
    env = gym.make("TradingBot/Hybrid-v1", config=config).unwrapped
    assert isinstance(env, HybridEnv)
    env.reset(seed=1)

    _, _, _, _, bought = env.step(int(Action.BUY_LARGE))
    _, _, _, _, sold = env.step(int(Action.SELL_ALL))

    assert bought["translation_exact"]
    assert sold["translation_exact"]
    assert bought["units"] > 0.0
    assert sold["units"] == 0.0
