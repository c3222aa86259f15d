"""The book of a run's sleeves: the backtester's is the simulator's own; no later bar counts."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fixtures.tiny_training import tiny_config
from fixtures.trading_worlds import crashed, short_config, small_world
from tradingbot.agents.policy import PolicyInputs
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.batch.observation import rows_of
from tradingbot.envs.portfolio.book import SleeveBook
from tradingbot.envs.portfolio.sleeves import SleevePaths, run_sleeves
from tradingbot.envs.starting import first_ready_bar
from tradingbot.envs.world import World
from tradingbot.training.sleeve_book import (
    book_through,
    principal_components,
    sleeve_rule,
    trade_sleeves,
)
from tradingbot.training.trained_sleeves import SleeveAgents


@pytest.mark.parametrize("rule", ["buy_and_hold", "sma_cross:fast=3,slow=9"])
def test_sleeves_of_the_backtester_are_those_of_the_simulator(rule: str) -> None:
    world, config = small_world(), short_config("target", smoothing_bars=1)
    policy = sleeve_rule(rule, world, 0)
    features, regimes = rows_of(world.features), rows_of(world.regimes)

    def decide(row: torch.Tensor, private: torch.Tensor) -> torch.Tensor:
        return policy(PolicyInputs(row, features[row], regimes[row], private))

    ours, theirs = run_sleeves(world, config, decide), trade_sleeves(world, config, policy)
    for name in ("target_frac", "position_frac", "value"):
        one, two = getattr(ours, name), getattr(theirs, name)
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9, err_msg=name)
    assert np.abs(ours.target_frac).max() > 0.5


def test_sleeves_do_not_depend_on_later_bars() -> None:
    world, cut = small_world(), 330
    config = replace(short_config("target", smoothing_bars=1))
    one, two = (
        trade_sleeves(each, config, sleeve_rule("buy_and_hold", each, 0))
        for each in (world, crashed(world, 0, cut))
    )
    for name in one._fields:
        assert np.array_equal(getattr(one, name)[:cut], getattr(two, name)[:cut]), name


def test_principal_components_are_of_the_training_part_and_have_deviation_one() -> None:
    draws = np.random.default_rng(1)
    hidden = draws.standard_normal((300, 4, 2)) * [3.0, 1.0]
    seen = (hidden @ draws.standard_normal((2, 6))).astype(np.float32)
    train = IndexRange(0, 200)
    made = principal_components(seen, train, 2)
    assert made is not None

    learned = made(torch.from_numpy(seen[:200])).reshape(-1, 2).numpy()
    assert np.cov(learned.T) == pytest.approx(np.eye(2), abs=1e-3)
    later = seen.copy()
    later[200:] *= 100.0
    again = principal_components(later, train, 2)
    assert again is not None
    assert torch.equal(again.mean, made.mean)
    assert torch.equal(again.directions, made.directions)
    assert principal_components(seen, train, 0) is None
    assert principal_components(seen, train, 9) is None


def book_of_agents(world: World, *, agents_short: bool, portfolio_short: bool) -> SleeveBook:
    """The book of agents that ask for what the number of a bar says."""
    config = short_config("target", smoothing_bars=1)
    allowed, own = (
        replace(config.rules, limits=replace(config.rules.limits, allow_short=each))
        for each in (agents_short, portfolio_short)
    )
    seen = np.zeros((world.n_bars, world.n_symbols, 1), np.float32)
    agents = SleeveAgents("agents", asked_by_bar, allowed, seen, "weights")
    data = SimpleNamespace(world=world, sleeve_agents=agents)
    return book_through(None, tiny_config(), data, replace(config, rules=own), 0)


def asked_by_bar(seen: PolicyInputs) -> torch.Tensor:
    return (seen.row % 7).double() / 7.0


def test_long_only_portfolio_over_agents_that_may_be_short_is_refused() -> None:
    with pytest.raises(ConfigError, match="allow_short must be true where agents of the sleeves"):
        book_of_agents(small_world(), agents_short=True, portfolio_short=False)
    for short in (False, True):
        assert book_of_agents(small_world(), agents_short=short, portfolio_short=True)


def test_confidence_of_a_bar_is_that_of_the_inputs_of_that_bar() -> None:
    world = small_world()
    found = book_of_agents(world, agents_short=False, portfolio_short=False).column("confidence")

    bars = torch.arange(first_ready_bar(world), world.n_bars - 1)
    expected = np.repeat((bars % 7).numpy()[:, None] / 7.0, world.n_symbols, axis=1)
    np.testing.assert_allclose(found[bars.numpy()], expected, atol=1e-6)


@pytest.mark.parametrize("way", ["simulator", "backtester"])
@pytest.mark.parametrize("what", ["gap", "no market"])
def test_what_a_sleeve_asks_for_does_not_know_the_bar_of_its_fill(way: str, what: str) -> None:
    """All cash is ordered at a close; that an open twice as high fills half of it comes later."""
    world, config = small_world(), short_config("target", smoothing_bars=1)
    first = first_ready_bar(world)
    later = gapped(world, first + 1) if what == "gap" else without_volume(world, first + 1)

    def trade(each: World) -> SleevePaths:
        if way == "simulator":
            return run_sleeves(each, config, lambda row, private: torch.ones(len(row)))
        return trade_sleeves(each, config, lambda seen: torch.ones(len(seen.row)).double())

    one, two = trade(world), trade(later)

    assert one.target_frac[first].min() > 0.8
    np.testing.assert_array_equal(one.target_frac[first], two.target_frac[first])
    assert two.position_frac[first + 1].max() <= 1.0
    assert not np.allclose(one.position_frac[first + 1], two.position_frac[first + 1])


def gapped(world: World, bar: int) -> World:
    prices = world.prices.copy()
    prices[:, bar:, :4] *= 2.0
    return replace(world, prices=prices)


def without_volume(world: World, bar: int) -> World:
    prices = world.prices.copy()
    prices[:, bar, 4] = 0.0
    return replace(world, prices=prices)
