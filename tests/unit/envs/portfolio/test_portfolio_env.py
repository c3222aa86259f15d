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
from tradingbot.envs.build_world import synthetic_world, world_from_bars
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.portfolio import PortfolioEnv
from tradingbot.envs.portfolio.env import on_simplex
from tradingbot.market import ActionRules, EpisodeRules, SimulatorParams
from tradingbot.market.costs import COST_PROFILES, CostProfile
from tradingbot.risk.limits import RiskLimits

N = 3
CONFIG = EnvConfig(
    rules=SimulatorParams(
        limits=RiskLimits(max_position_frac=1.0), episode=EpisodeRules(episode_bars=30)
    )
)


@pytest.fixture(scope="module")
def world():
    return synthetic_world("regimes", n_symbols=N, n_bars=400, seed=4)


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
    """A portfolio that begins with its sleeves pays their orders, and nothing else."""
    weights = np.zeros(N + 1, np.float32)
    weights[sleeve] = 1.0
    config = replace(CONFIG, starts="first")
    for info in roll(PortfolioEnv(world, momentum, config), lambda env: weights):
        assert info["equity"] == pytest.approx(info["sleeve_equity"][sleeve], rel=1e-12)


def test_capital_that_joins_a_held_position_pays_for_it(world):
    env = PortfolioEnv(world, always_in, CONFIG)
    before, _ = env.reset(seed=1)
    exposure = before["sleeves"][0, 0]
    *_, info = env.step(np.array([1, 0, 0, 0]))
    assert exposure > 0.3
    assert info["turnover_frac"] == pytest.approx(exposure, rel=0.05)
    paid = 1.2e-4 * info["turnover_frac"]
    assert info["cost_frac"] == pytest.approx(paid, rel=1e-3)
    assert info["reward_terms"]["costs"] == pytest.approx(-paid, rel=0.01)


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
    assert total == pytest.approx(math.log(infos[-1]["equity"] / 100_000.0), abs=1e-6)
    for info in infos:
        assert info["weights"].sum() == pytest.approx(1.0)
        assert (info["weights"] >= 0.0).all()
        assert info["reward_terms"]["costs"] <= 0.0
        assert (info["positions"] <= 1.05 * info["weights"][:-1]).all()


def test_more_cost_never_raises_equity(world):
    def final(profile):
        rng = stream(5, "test", "weights")
        config = replace(CONFIG, costs=COST_PROFILES[profile])
        return roll(PortfolioEnv(world, always_in, config), lambda env: rng.random(N + 1))[-1]

    assert final("free")["equity"] > final("alpaca")["equity"] > final("retail")["equity"]


def test_same_seed_same_episode_next_episode_another(world):
    env = PortfolioEnv(world, momentum, CONFIG)
    rolls = [[i["equity"] for i in roll(env, fixed(1, 1, 1, 1), seed=7)] for _ in range(2)]
    assert rolls[0] == rolls[1]
    env.reset(seed=7)
    env.reset()
    assert int(env._task.numbers(env._state).episode) == 1


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
    config = replace(CONFIG, rules=rules, costs=COST_PROFILES["retail"], starts="first")
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
        (None, "policy of the per-symbol accounts"),
        (torch.zeros(N, dtype=torch.bool), "continuous actions must be numbers"),
    ],
)
def test_policy_whose_answer_cannot_be_read_is_refused(world, answer, message):
    with pytest.raises(UserError, match=message):
        PortfolioEnv(world, lambda _: answer, CONFIG)


def test_policy_may_answer_with_an_array(world):
    arrays = PortfolioEnv(world, lambda seen: np.ones(len(seen)), CONFIG)
    tensors = PortfolioEnv(world, always_in, CONFIG)

    even = fixed(1, 1, 1, 1)
    np.testing.assert_equal(roll(arrays, even), roll(tensors, even))


def test_policy_that_cannot_be_called_is_refused(world):
    with pytest.raises(ConfigError, match="policy must be callable, was 'buy'"):
        PortfolioEnv(world, "buy", CONFIG)


@pytest.mark.parametrize(
    ("name", "value", "was"),
    [("delisted_after_bars", 20, "20"), ("stop_loss_frac", 0.01, "0.01, inf")],
)
def test_exits_that_sleeves_alone_would_make_are_refused(world, name, value, was):
    account = replace(CONFIG.rules.account, **{name: value})
    config = replace(CONFIG, rules=replace(CONFIG.rules, account=account))

    with pytest.raises(ConfigError, match=rf"{name}.* must be left out .* was {was}"):
        PortfolioEnv(world, lambda seen: seen, config)


def test_reset_tells_where_orders_fill_and_keeps_the_seed_when_refused(world):
    env = PortfolioEnv(world, always_in, CONFIG)
    assert env.reset(seed=1)[1]["fill_at"] == "next_open"

    with pytest.raises(UserError, match="options must be empty"):
        env.reset(seed=9, options={"bar": 3})

    assert env.reset()[1]["seed"] == 1


def short_world(*, jump_bar: int, factor: float, n_symbols: int = 2):
    """Quiet prices; that of the first symbol is multiplied between two bars."""
    n_bars = 300
    noise = stream(1, "test", "quiet").normal(0.0, 1e-3, (n_symbols, n_bars))
    close = 100.0 * np.exp(np.cumsum(noise, axis=1))
    close[0, jump_bar:] *= factor
    open_ = np.concatenate([close[:, :1], close[:, :-1]], axis=1)
    open_[0, jump_bar] = close[0, jump_bar]
    high, low = np.maximum(open_, close), np.minimum(open_, close)
    prices = np.stack((open_, high, low, close, np.full_like(close, 1e9)), -1)
    clock = np.arange(n_bars) * 3_600_000_000 + 1_577_836_800_000_000
    names = [f"S{i}" for i in range(n_symbols)]
    present = np.ones((n_symbols, n_bars), bool)
    return world_from_bars(prices, present, clock, names, synthetic=True)


SHORT = EnvConfig(
    rules=SimulatorParams(
        limits=RiskLimits(max_position_frac=1.0, allow_short=True),
        action=ActionRules(space="target", smoothing_bars=1),
        episode=EpisodeRules(episode_bars=40),
    ),
    costs=COST_PROFILES["free"],
    starts="first",
)


def always_short(observations: torch.Tensor) -> torch.Tensor:
    return -torch.ones(len(observations))


def roll_short(weights, loss_frac=0.2, factor=6.0):
    account = replace(SHORT.rules.account, portfolio_loss_frac=loss_frac)
    config = replace(SHORT, rules=replace(SHORT.rules, account=account))
    return roll(
        PortfolioEnv(short_world(jump_bar=205, factor=factor), always_short, config),
        fixed(*weights),
    )


def test_bankrupt_sleeve_with_all_capital_leaves_its_debt_and_terminates():
    infos = roll_short((1, 0, 0))

    assert infos[-1]["equity"] < -300_000.0
    assert len(infos) < 40
    assert infos[-1]["reward"] == pytest.approx(math.log(1e-6))


def test_bankrupt_sleeve_with_a_tenth_of_the_capital_costs_half_of_it():
    infos = roll_short((0.1, 0, 0.9), loss_frac=0.9)
    worst = min(infos, key=lambda info: info["reward"])
    later = infos[infos.index(worst) + 1 :]

    assert worst["equity"] == pytest.approx(50_000.0, rel=0.02)
    assert worst["weights"].tolist() == pytest.approx([0.1, 0.0, 0.9])  # all capital bore it
    assert len(later) > 2
    assert [info["positions"][0] for info in later[1:]] == [0.0] * (len(later) - 1)
    assert len({info["equity"] for info in later[1:]}) == 1


def test_debt_beyond_cash_is_paid_by_the_other_sleeves():
    infos = roll_short((0.1, 0.9, 0), loss_frac=0.9)
    worst = min(range(len(infos)), key=lambda i: infos[i]["reward"])

    assert infos[worst]["equity"] == pytest.approx(50_000.0, rel=0.02)
    later = infos[worst + 1]
    assert later["weights"].tolist() == pytest.approx([0.1, 0.9, 0.0], abs=0.01)
    assert later["positions"].tolist() == pytest.approx([0.0, -0.9], abs=0.02)
    assert later["equity"] == pytest.approx(infos[worst]["equity"], rel=0.02)


@pytest.mark.parametrize("how", ["absent", "without volume"])
def test_capital_stays_in_positions_that_have_no_market(world, how):
    config = replace(CONFIG, starts="first")
    first = PortfolioEnv(world, always_in, config)
    first.reset(seed=1)
    bar = int(first._task.numbers(first._state).bar) + 4
    prices, present = world.prices.copy(), world.present.copy()
    if how == "absent":
        present[0, bar] = False
        prices[0, bar] = np.nan
    else:
        prices[0, bar, 4] = 0.0
    halted = replace(world, prices=prices, present=present, usable=world.usable & present)
    env = PortfolioEnv(halted, always_in, config)
    env.reset(seed=1)
    for _ in range(3):
        *_, before = env.step(np.array([1, 1, 0, 0]))
    *_, info = env.step(np.array([0, 1, 0, 0]))
    *_, after = env.step(np.array([0, 1, 0, 0]))

    assert info["weights"][0] == pytest.approx(before["weights"][0], rel=0.02)
    assert info["turnover_frac"] < 0.03  # what cash was left buys more of the other
    assert after["weights"][0] == 0.0
    assert after["turnover_frac"] > 0.5


def test_moving_capital_pays_half_of_the_spread(world):
    config = replace(CONFIG, costs=CostProfile(1e-4, 2e-4, spread_frac=6e-4))
    env = PortfolioEnv(world, always_in, config)
    env.reset(seed=1)
    for _ in range(3):
        env.step(np.array([0, 0, 0, 1]))
    *_, info = env.step(np.array([1, 0, 0, 0]))

    assert info["turnover_frac"] > 0.3
    assert info["cost_frac"] == pytest.approx(6e-4 * info["turnover_frac"], rel=1e-3)
