"""The master's environment: weights over sleeves, accounted exactly, nothing from the future."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env as check_gymnasium

from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.domain.seeding import stream
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.portfolio import PortfolioEnv, SleeveMoves, rebalance
from tradingbot.envs.portfolio_actions import on_simplex
from tradingbot.envs.worlds import synthetic_world
from tradingbot.market import COST_PROFILES, EpisodeRules, Rules
from tradingbot.risk.limits import RiskLimits

N = 3
CONFIG = EnvConfig(
    rules=Rules(limits=RiskLimits(max_position_frac=1.0), episode=EpisodeRules(episode_bars=30))
)


@pytest.fixture(scope="module")
def world():
    return synthetic_world("regimes", n_symbols=N, n_bars=400, seed=4)


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def always_in(observations: torch.Tensor) -> torch.Tensor:
    return torch.ones(len(observations))


def never_in(observations: torch.Tensor) -> torch.Tensor:
    return torch.zeros(len(observations))


def momentum(observations: torch.Tensor) -> torch.Tensor:
    return torch.tanh(observations[:, :23].sum(1))


def roll(env, weights, seed=1):
    env.reset(seed=seed)
    infos, ended = [], False
    while not ended:
        _, reward, terminated, truncated, info = env.step(weights(env))
        assert reward == pytest.approx(sum(info["reward_terms"].values()))
        infos.append(info | {"reward": reward})
        ended = terminated or truncated
    return infos


def fixed(*numbers):
    return lambda env: np.array(numbers, np.float32)


@pytest.mark.parametrize("sleeve", range(N))
def test_all_capital_in_one_sleeve_is_that_sleeve(world, sleeve):
    weights = np.zeros(N + 1, np.float32)
    weights[sleeve] = 1.0
    infos = roll(PortfolioEnv(world, momentum, CONFIG), lambda env: weights)
    for info in infos:
        assert info["equity"] == pytest.approx(info["sleeve_equity"][sleeve], rel=1e-12)
        assert info["turnover_frac"] == pytest.approx(0.0, abs=1e-12)


def test_capital_that_joins_a_held_position_pays_for_it(world):
    env = PortfolioEnv(world, always_in, CONFIG)
    env.reset(seed=1)
    env.step(np.array([0, 0, 0, 1]))
    exposure = float((env._account.units[0] * env._account.mark[0]) / env._account.equity[0])
    *_, info = env.step(np.array([1, 0, 0, 0]))
    assert exposure > 0.3
    assert info["turnover_frac"] == pytest.approx(exposure, rel=0.05)
    paid = 1.2e-4 * info["turnover_frac"]
    assert info["reward_terms"]["rebalancing"] == pytest.approx(math.log1p(-paid))


def test_all_cash_never_moves(world):
    infos = roll(PortfolioEnv(world, always_in, CONFIG), fixed(0, 0, 0, 1))
    assert {info["equity"] for info in infos} == {100_000.0}
    assert {info["reward"] for info in infos} == {0.0}


def test_idle_sleeves_earn_and_cost_nothing(world):
    rng = stream(3, "test", "weights")
    infos = roll(PortfolioEnv(world, never_in, CONFIG), lambda env: rng.random(N + 1))
    assert infos[-1]["equity"] == pytest.approx(100_000.0, rel=1e-12)


def test_rewards_sum_to_log_growth_and_weights_to_one(world):
    rng = stream(4, "test", "weights")
    infos = roll(PortfolioEnv(world, momentum, CONFIG), lambda env: rng.random(N + 1))
    total = sum(info["reward"] for info in infos)
    assert total == pytest.approx(math.log(infos[-1]["equity"] / 100_000.0), abs=1e-12)
    for info in infos:
        assert info["weights"].sum() == pytest.approx(1.0)
        assert (info["weights"] >= 0.0).all()
        assert info["reward_terms"]["rebalancing"] <= 0.0


def test_more_cost_never_raises_equity(world):
    def final(profile):
        rng = stream(5, "test", "weights")
        config = replace(CONFIG, costs=COST_PROFILES[profile])
        return roll(PortfolioEnv(world, always_in, config), lambda env: rng.random(N + 1))[-1]

    assert final("free")["equity"] > final("alpaca")["equity"] > final("retail")["equity"]


def test_rebalance_hand_computed():
    # Half in a sleeve that gaps up 10 %, half in cash: 1.05, of which 0.55 / 1.05 in the sleeve.
    moves = SleeveMoves(np.array([1.1]), np.array([1.2]), np.array([0.8]))
    made = rebalance(np.array([0.5, 0.5]), np.array([1.0, 0.0]), moves, cost_frac=0.01)
    moved = 1.0 - 0.55 / 1.05
    assert made.turnover_frac == pytest.approx(0.8 * moved)
    assert made.cost == pytest.approx(1.0 - 0.008 * moved)
    assert made.growth == pytest.approx(1.05 * 1.2)
    assert made.weights.tolist() == [1.0, 0.0]


def test_rebalance_weights_drift_within_the_bar():
    moves = SleeveMoves(np.array([1.0]), np.array([1.2]), np.array([0.0]))
    made = rebalance(np.array([0.5, 0.5]), np.array([0.5, 0.5]), moves, cost_frac=0.01)
    assert made.weights.tolist() == pytest.approx([0.6 / 1.1, 0.5 / 1.1])


def test_new_weights_do_not_earn_the_gap():
    """Capital that is moved at the open must not have earned from the close before."""
    moves = SleeveMoves(np.array([1.5, 1.0]), np.array([1.0, 1.0]), np.zeros(2))
    made = rebalance(np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]), moves, cost_frac=0.0)
    assert made.growth == 1.0


def test_same_seed_same_episode_next_episode_another(world):
    env = PortfolioEnv(world, momentum, CONFIG)
    rolls = [[i["equity"] for i in roll(env, fixed(1, 1, 1, 1), seed=7)] for _ in range(2)]
    assert rolls[0] == rolls[1]
    env.reset(seed=7)
    env.reset()
    assert int(env._account.episode[0]) == 1


@pytest.mark.parametrize(
    ("action", "message"),
    [([1.0, 0.0], "shape"), ([-1, 0, 0, 1], "0 or more"), ([float("nan"), 0, 0, 1], "finite")],
)
def test_impossible_weights_are_refused(action, message):
    with pytest.raises(UserError, match=message):
        on_simplex(np.array(action), N)


def test_on_simplex_zeros_is_cash():
    assert on_simplex(np.zeros(4), N).tolist() == [0.0, 0.0, 0.0, 1.0]


def test_step_after_the_end_is_refused(world):
    env = PortfolioEnv(world, never_in, CONFIG)
    with pytest.raises(UserError, match="must have begun"):
        env.step(np.ones(4))
    roll(env, fixed(0, 0, 0, 1))
    with pytest.raises(UserError, match="not ended"):
        env.step(np.ones(4))


def test_ruin_terminates(world):
    account = replace(CONFIG.rules.account, portfolio_loss_frac=0.005)
    rules = replace(CONFIG.rules, account=account)
    config = replace(CONFIG, rules=rules, costs=COST_PROFILES["retail"])
    env = PortfolioEnv(world, always_in, config)
    back_and_forth = (np.array(w) for w in [(1, 0, 0, 0), (0, 1, 0, 0)] * 100)
    env.reset(seed=1)
    ended = False
    while not ended:
        _, _, terminated, truncated, info = env.step(next(back_and_forth))
        ended = terminated or truncated
        assert terminated == (info["equity"] <= 99_500.0)
    assert terminated
    assert not truncated


def test_passes_gymnasium_checker(world):
    check_gymnasium(PortfolioEnv(world, momentum, CONFIG), skip_render_check=True)


@pytest.mark.parametrize(
    "action", ["cash", None, {"S000": 1.0}, [[1.0], [1.0, 2.0]], ["0.5"] * (N + 1), 1j, [True] * 4]
)
def test_weights_of_the_wrong_kind_are_refused(world, action):
    env = PortfolioEnv(world, always_in, CONFIG)
    env.reset(seed=1)

    with pytest.raises(UserError, match="weights must be an array of numbers, was"):
        env.step(action)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (torch.tensor([0.0, torch.nan, 0.0]), "actions must be finite"),
        (torch.zeros(N, 2), r"actions must have shape \(3,\), was \(3, 2\)"),
        (torch.zeros(N + 1), r"actions must have shape \(3,\), was \(4,\)"),
        (None, "policy of the sleeves"),
        (torch.zeros(N, dtype=torch.bool), "continuous actions must be numbers"),
    ],
)
def test_policy_whose_answer_cannot_be_read_is_refused_and_nothing_moves(world, answer, message):
    answers = [answer, torch.ones(N)]
    env = PortfolioEnv(world, lambda _: answers.pop(0), CONFIG)
    same = PortfolioEnv(world, always_in, CONFIG)
    env.reset(seed=1)
    same.reset(seed=1)

    with pytest.raises(UserError, match=message):
        env.step(np.ones(N + 1))

    np.testing.assert_equal(env.step(np.ones(N + 1)), same.step(np.ones(N + 1)))


def test_policy_may_answer_with_an_array(world):
    arrays = PortfolioEnv(world, lambda seen: np.ones(len(seen)), CONFIG)
    tensors = PortfolioEnv(world, always_in, CONFIG)

    even = fixed(1, 1, 1, 1)
    np.testing.assert_equal(roll(arrays, even), roll(tensors, even))


def test_policy_that_cannot_be_called_is_refused(world):
    with pytest.raises(ConfigError, match="policy must be callable, was 'buy'"):
        PortfolioEnv(world, "buy", CONFIG)


def test_reset_tells_where_orders_fill_and_keeps_the_seed_when_refused(world):
    env = PortfolioEnv(world, always_in, CONFIG)
    assert env.reset(seed=1)[1]["fill_at"] == "next_open"

    with pytest.raises(UserError, match="options must be empty"):
        env.reset(seed=9, options={"bar": 3})

    assert env.reset()[1]["seed"] == 1
