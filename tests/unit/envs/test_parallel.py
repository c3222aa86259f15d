"""PettingZoo's interface: its own tests pass, agents leave one by one, silence is not an order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from fixtures.trading_worlds import crashed, short_config, small_world
from tradingbot.domain.errors import DataError, UserError
from tradingbot.market.costs import cost_profile
from tradingbot.market.params import AccountRules, ActionSpace

pytest.importorskip("pettingzoo", reason="the extra `train` is not installed")

from pettingzoo.test import parallel_api_test, parallel_seed_test

from tradingbot.envs.parallel import TradingParallelEnv


def parallel_env(space: ActionSpace = "continuous") -> TradingParallelEnv:
    return TradingParallelEnv(small_world(), short_config(space))


def everyone(env: TradingParallelEnv, action: object) -> dict[str, object]:
    return dict.fromkeys(env.agents, action)


def after_crash() -> TradingParallelEnv:
    """An environment in which S001 halves four bars after the start."""
    world = small_world()
    config = replace(short_config("target", smoothing_bars=1), starts="first")
    bar = int(world.usable.any(0).argmax())
    env = TradingParallelEnv(crashed(world, 1, bar + 4), config)
    env.reset(seed=0)
    return env


@pytest.mark.parametrize("space", ["continuous", "target", "discrete"])
@pytest.mark.parametrize("form", ["flat", "dict"])
def test_parallel_passes_pettingzoos_tests_without_a_warning(space: ActionSpace, form: str) -> None:
    config = replace(short_config(space), observation=form)  # type: ignore[arg-type]

    parallel_api_test(TradingParallelEnv(small_world(), config), num_cycles=30)
    parallel_seed_test(lambda: TradingParallelEnv(small_world(), config), num_cycles=30)


def test_parallel_reset_with_options_is_refused_and_nothing_changes() -> None:
    env, same = parallel_env(), parallel_env()
    for each in (env, same):
        each.reset(seed=1)

    with pytest.raises(UserError, match="options must be empty, was 'bar'"):
        env.reset(seed=2, options={"bar": 7})

    np.testing.assert_equal(env.reset(), same.reset())


def test_parallel_agents_are_the_symbols_on_one_clock() -> None:
    env = parallel_env()
    observations, infos = env.reset(seed=1)

    assert env.agents == env.possible_agents == list(small_world().symbols)
    assert set(observations) == set(infos) == set(env.agents)
    assert all(env.observation_space(a).contains(seen) for a, seen in observations.items())
    bars = env.simulator.account.row % small_world().n_bars
    assert len(set(bars.tolist())) == 1


def test_parallel_all_agents_end_together_at_the_end_of_the_episode() -> None:
    env = parallel_env()
    env.reset(seed=1)
    for _ in range(12):
        assert len(env.agents) == 3
        observations, _, terminated, truncated, infos = env.step(everyone(env, np.array([0.9])))

    assert env.agents == []
    assert all(truncated.values())
    assert not any(terminated.values())
    assert set(observations) == set(infos) == set(env.possible_agents)
    with pytest.raises(UserError, match="reset must be called"):
        env.step({})


def test_bankrupt_agent_leaves_and_the_others_go_on() -> None:
    env = after_crash()
    left_at = None
    for bar in range(12):
        agents = list(env.agents)
        observations, rewards, terminated, truncated, _ = env.step(everyone(env, np.array([1.0])))
        assert set(observations) == set(agents)
        assert np.isfinite(list(rewards.values())).all()
        if "S001" in agents and terminated["S001"]:
            left_at = bar
            assert not truncated["S001"]
            assert env.agents == ["S000", "S002"]

    assert left_at is not None
    assert left_at < 10
    assert env.agents == []
    assert truncated == {"S000": True, "S002": True}


def test_bankrupt_agent_acting_again_is_refused_and_nothing_moves() -> None:
    env = after_crash()
    while "S001" in env.agents:
        env.step(everyone(env, np.array([1.0])))
    before = env.simulator.account

    with pytest.raises(UserError, match="living agents, was 'S001'"):
        env.step({"S001": np.array([0.0])})

    assert env.simulator.account is before


def test_reset_after_a_bankruptcy_brings_all_agents_to_one_bar() -> None:
    env = after_crash()
    while env.agents:
        env.step(everyone(env, np.array([1.0])))

    env.reset()

    assert env.agents == env.possible_agents
    account = env.simulator.account
    assert len(set((account.row % small_world().n_bars).tolist())) == 1
    assert account.episode.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("space", "entry"), [("target", 0.8), ("discrete", 3), ("continuous", 1.0)]
)
def test_silent_agent_holds_and_it_is_counted(space: ActionSpace, entry: float) -> None:
    env = TradingParallelEnv(small_world(), short_config(space, smoothing_bars=1))
    env.reset(seed=1)
    env.step(everyone(env, entry))
    units = env.simulator.account.units.clone()
    assert (units > 0).all()

    infos = env.step({"S000": entry, "S002": entry})[4]

    account = env.simulator.account
    assert infos["S001"]["violations"] == 1
    assert account.units[1] == units[1]
    assert account.violations[1] == 1
    assert env.agents == env.possible_agents


def test_absent_symbol_waits_and_trades_nothing() -> None:
    world = small_world()
    present = world.present.copy()
    present[2] = False
    prices = np.where(present[..., None], world.prices, np.nan)
    usable = world.usable & present
    env = TradingParallelEnv(
        replace(world, present=present, prices=prices, usable=usable), short_config()
    )
    env.reset(seed=1)
    for _ in range(11):
        _, rewards, *_ = env.step(everyone(env, np.array([1.0])))

    assert np.isfinite(list(rewards.values())).all()
    assert env.simulator.account.units[2] == 0.0
    assert env.simulator.account.turnover[2] == 0.0
    assert env.simulator.account.turnover[0] > 0.0


def test_scarce_volume_is_never_overdrawn() -> None:
    world, config = small_world(), short_config("target", smoothing_bars=1)
    prices = world.prices.copy()
    prices[..., 4] = 100.0
    rules = replace(config.rules, account=AccountRules(max_participation_frac=0.1))
    env = TradingParallelEnv(
        replace(world, prices=prices),
        replace(config, rules=rules, costs=cost_profile("free")),
        dtype=torch.float64,
    )
    env.reset(seed=1)
    largest = 0.0
    for _ in range(11):
        before = env.simulator.account.units
        env.step(everyone(env, 1.0))
        largest = max(largest, float((env.simulator.account.units - before).abs().max()))

    assert largest == pytest.approx(10.0)


def test_duplicate_symbol_is_refused() -> None:
    with pytest.raises(DataError, match="named once each"):
        TradingParallelEnv(replace(small_world(), symbols=("A", "B", "A")), short_config())


@pytest.mark.parametrize(
    ("actions", "complaint"),
    [
        ({"S00": 0.0}, "living agents, was 'S00'.*Did you mean 'S00[012]'"),
        ({"S000": np.zeros(2)}, r"shape.*was \(2,\) \(agent 'S000'\)"),
        ({"S000": "buy"}, "agent 'S000'"),
    ],
)
def test_wrong_actions_are_refused_by_name(actions: dict[str, object], complaint: str) -> None:
    env = parallel_env()
    env.reset(seed=1)
    before = env.simulator.account

    with pytest.raises(UserError, match=complaint):
        env.step(actions)

    assert env.simulator.account is before


def test_step_before_reset_is_refused() -> None:
    with pytest.raises(UserError, match="reset must be called"):
        parallel_env().step({})


def test_discrete_agents_are_told_their_mask() -> None:
    env = parallel_env("discrete")
    _, infos = env.reset(seed=1)
    assert infos["S000"]["action_mask"].tolist() == [1, 1, 1, 1, 0, 0, 0]

    *_, infos = env.step(everyone(env, 3))

    assert infos["S000"]["action_mask"][5] == 1
    assert infos["S000"]["action_mask"].dtype == np.int8


def test_reset_tells_every_agent_where_orders_fill_and_counts_from_zero() -> None:
    infos = parallel_env().reset(seed=1)[1]

    assert {info["fill_at"] for info in infos.values()} == {"next_open"}
    assert {info["violations"] for info in infos.values()} == {0}


def test_reset_that_fails_keeps_the_episode() -> None:
    env, same = parallel_env(), parallel_env()
    env.reset(seed=4)
    same.reset(seed=4)

    with pytest.raises(UserError, match="seed must be one whole number"):
        env.reset(seed=[1])  # type: ignore[arg-type]

    np.testing.assert_equal(env.reset(), same.reset())
