"""Neutral bars: exactly the factor's part is gone, nothing later is used, what is seen stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tradingbot.data.factor import bar_returns, fit_factor
from tradingbot.data.splits import IndexRange
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.neutral_bars import remove_factor, shrunk_premium

TRAIN = IndexRange(200, 500)


@pytest.fixture(scope="module")
def world():
    made = synthetic_world("planted", n_symbols=6, n_bars=700, seed=3, correlation=0.5, train=TRAIN)
    prices = np.array(made.prices)
    prices[:, 1:, 0] *= 1.0 + 0.002 * np.random.default_rng(1).standard_normal((6, 699))  # gaps
    prices[..., 1] = np.maximum(prices[..., 1], prices[..., 0])
    prices[..., 2] = np.minimum(prices[..., 2], prices[..., 0])
    present = np.array(made.present)
    prices[2, 300], present[2, 300] = np.nan, False
    usable = made.usable & present
    return replace(made, prices=prices, present=present, usable=usable)


def factor_of(world, name="equal_weight"):
    returns = bar_returns(world.prices, world.present)
    return fit_factor(returns, world.symbols, TRAIN, world.closed_at, name)


def test_what_is_removed_is_beta_times_the_factor_less_its_premium(world):
    factor = factor_of(world)
    neutral = remove_factor(world, factor, TRAIN)
    before, after = (bar_returns(each.prices, each.present) for each in (world, neutral))
    known = np.isfinite(before.whole) & (np.arange(700) >= 200) & (np.arange(700) < 500)

    for part in ("gap", "whole"):
        market = getattr(factor.returns, part)
        removed = factor.beta[:, None] * (market - shrunk_premium(market, known))
        changed = getattr(before, part) - getattr(after, part)
        assert np.abs(changed - removed)[known].max() < 1e-12
        assert np.nanmax(np.abs(changed)[:, 500:]) < 1e-12
    assert np.array_equal(neutral.prices[:, :200], world.prices[:, :200])
    opened, high, low, closed = np.moveaxis(neutral.prices[..., :4], -1, 0)[:, neutral.present]
    assert np.all((low <= np.minimum(opened, closed)) & (high >= np.maximum(opened, closed)))
    shared = np.nan_to_num(after.whole[:, 200:500])
    off = np.corrcoef(shared)[~np.eye(6, dtype=bool)]
    assert np.corrcoef(np.nan_to_num(before.whole[:, 200:500]))[0, 1] > 0.4
    assert np.abs(off).max() < 0.4  # the others' own noise is in a market of five


def test_what_any_positions_earn_differs_by_market_timing_and_the_premium_alone(world):
    factor = factor_of(world)
    neutral = remove_factor(world, factor, TRAIN)
    cut = slice(TRAIN.start, TRAIN.stop)
    real, left = (
        np.nan_to_num(bar_returns(each.prices, each.present).whole[:, cut])
        for each in (world, neutral)
    )
    market = factor.returns.whole[:, cut]
    known = np.isfinite(bar_returns(world.prices, world.present).whole)
    chosen = known & (np.arange(700) >= TRAIN.start) & (np.arange(700) < TRAIN.stop)
    premium = shrunk_premium(factor.returns.whole, chosen)
    weight = np.random.default_rng(5).random(market.shape) * known[:, cut]

    difference = (weight * (real - left)).mean(axis=1)

    covariance = ((weight - weight.mean(1, keepdims=True)) * market).mean(axis=1)
    exposed = weight.mean(axis=1) * (market.mean(axis=1) - premium[:, 0])
    assert difference == pytest.approx(factor.beta * (covariance + exposed), abs=1e-9)


def test_bars_after_training_change_nothing_that_is_learned_from(world):
    later = np.array(world.prices)
    later[:, 500:, :4] *= 1.0 + 0.3 * np.random.default_rng(2).random((6, 200, 1))
    other = replace(world, prices=later)

    one, two = (remove_factor(each, factor_of(each), TRAIN) for each in (world, other))

    assert np.array_equal(one.prices[:, :500], two.prices[:, :500], equal_nan=True)


def test_what_agents_see_stays_to_the_bit(world):
    neutral = remove_factor(world, factor_of(world), TRAIN)

    for name in ("features", "regimes", "probabilities", "usable", "present", "closed_at"):
        assert np.array_equal(getattr(neutral, name), getattr(world, name)), name
    assert "taken out of training bars" in neutral.label


def test_a_symbol_that_is_the_market_itself_stays_as_it_is(world):
    named = remove_factor(world, factor_of(world, world.symbols[1]), TRAIN)
    none = remove_factor(world, factor_of(world, "none"), TRAIN)

    assert np.array_equal(named.prices[1], world.prices[1])
    assert not np.allclose(named.prices[0], world.prices[0])
    assert np.array_equal(none.prices, world.prices, equal_nan=True)
    returns = bar_returns(world.prices[:1], world.present[:1])
    alone = replace(
        world,
        **{
            name: getattr(world, name)[:1]
            for name in ("prices", "present", "features", "regimes", "probabilities", "usable")
        },
        symbols=world.symbols[:1],
        vwap=None,
    )
    own = fit_factor(returns, alone.symbols, TRAIN, alone.closed_at)
    assert np.array_equal(remove_factor(alone, own, TRAIN).prices, alone.prices)


def test_a_premium_is_kept_by_how_sure_it_is():
    known = np.ones((1, 400), dtype=bool)
    noise = np.tile([1.0, -1.0], 200)[None, :]  # standard error 0.05

    assert shrunk_premium(noise + 0.05, known)[0, 0] == pytest.approx(0.025)
    assert shrunk_premium(noise + 0.5, known)[0, 0] == pytest.approx(0.5 * 100 / 101)
    assert shrunk_premium(noise, known)[0, 0] == 0.0


def test_few_symbols_that_hardly_move_together_are_left_as_they_are():
    apart = synthetic_world("planted", n_symbols=2, n_bars=700, seed=3, train=TRAIN)

    assert remove_factor(apart, factor_of(apart), TRAIN) is apart
