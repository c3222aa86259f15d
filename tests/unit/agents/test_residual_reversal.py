"""Residual reversal: neutral targets against the own move, and what it earns where it is real."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tradingbot.agents.baselines.residual_reversal import (
    OWN_MOVE_BARS,
    SAME_HOUR_BARS,
    OwnMoves,
    ReversalConfig,
    reversal_targets,
)
from tradingbot.envs.build_world import synthetic_world
from tradingbot.evaluation.backtest import backtest, baseline, sleeve_config
from tradingbot.evaluation.backtest.attribution import factor_before
from tradingbot.evaluation.backtest.rule_features import own_moves
from tradingbot.evaluation.pipeline.backtest_figures import figures_of
from tradingbot.features.relative import residual_1, same_hour_residual
from tradingbot.market.costs import CostProfile

N_SYMBOLS, N_BARS, REVERSAL = 12, 1_500, 0.2


@pytest.fixture(scope="module")
def world():
    """Symbols that share a market, and of whose own moves a fifth is taken back in the next bar."""
    plain = synthetic_world("noise", n_symbols=N_SYMBOLS, n_bars=N_BARS, seed=3)
    draws = np.random.default_rng(4)
    own = 0.004 * draws.standard_normal((N_SYMBOLS, N_BARS))
    own[:, 1:] -= REVERSAL * own[:, :-1]
    moves = own + 0.004 * draws.standard_normal(N_BARS)
    closes = 100.0 * np.exp(np.cumsum(moves, axis=1))
    opens = np.concatenate([closes[:, :1], closes[:, :-1]], axis=1)
    highs, lows = np.maximum(opens, closes), np.minimum(opens, closes)
    volume = np.full_like(closes, 1e9)
    prices = np.stack([opens, highs, lows, closes, volume], axis=-1)
    return replace(plain, prices=prices.astype(plain.prices.dtype))


def figures(world, costs: CostProfile):
    rules = sleeve_config(costs, allow_short=True)
    played = backtest(
        world,
        rules,
        baseline("residual_reversal", world),
        name="residual_reversal",
        bars_per_year=1_764.0,
    )
    return figures_of(played, factor_before(world, world.closed_at[500], "equal_weight"))


def test_targets_are_neutral_and_of_the_size_asked_for():
    draws = np.random.default_rng(1)
    residual = draws.standard_normal((30, 50))
    residual[4, 20:] = np.nan
    volatility = draws.uniform(0.5, 1.5, (30, 50))
    moves = OwnMoves(residual, volatility, np.zeros_like(residual))

    wanted = reversal_targets(moves, ReversalConfig(0.15))

    np.testing.assert_allclose(wanted.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.abs(wanted[:, :20]).mean(axis=0), 0.15)
    assert not wanted[4, 20:].any()
    assert np.corrcoef(wanted[:, 0], residual[:, 0])[0, 1] < -0.8


def test_no_target_exceeds_the_largest_position():
    residual = np.zeros((30, 1))
    residual[0] = -5.0
    moves = OwnMoves(residual, np.ones_like(residual), np.zeros_like(residual))

    wanted = reversal_targets(moves, ReversalConfig(1.0))

    assert wanted.max() == 1.0
    assert wanted.sum() == pytest.approx(0.0, abs=1e-12)


def test_same_hour_is_read_where_it_has_a_weight(world):
    moves = own_moves(world)
    plain, both = (reversal_targets(moves, ReversalConfig(same_hour=w)) for w in (0.0, 2.0))

    assert np.abs(plain[:, OWN_MOVE_BARS]).sum() > 0.0
    assert not both[:, :SAME_HOUR_BARS].any()
    assert np.abs(both[:, SAME_HOUR_BARS]).sum() > 0.0
    assert not np.array_equal(plain[:, -1], both[:, -1])


def test_warm_up_is_that_of_the_features():
    assert residual_1.network.warm_up_bars == OWN_MOVE_BARS
    assert same_hour_residual.network.warm_up_bars == SAME_HOUR_BARS


def test_targets_are_the_same_whatever_comes_later(world):
    cut = 900
    prices = world.prices.copy()
    prices[:, cut:, :4] *= np.random.default_rng(2).uniform(0.5, 2.0, (N_SYMBOLS, N_BARS - cut, 1))
    config = ReversalConfig(same_hour=1.0)

    one, other = (
        reversal_targets(own_moves(each), config) for each in (world, replace(world, prices=prices))
    )

    np.testing.assert_array_equal(one[:, :cut], other[:, :cut])
    assert not np.array_equal(one[:, cut], other[:, cut])


def test_a_real_reversal_is_an_edge_without_costs_and_ends_at_the_cost_told(world):
    free = figures(world, CostProfile(commission_frac=0.0, slippage_frac=0.0))
    ends_at = free.break_even_cost_bps
    dear, at_end = (
        figures(world, CostProfile(commission_frac=cost * 1e-4, slippage_frac=0.0))
        for cost in (4.0 * ends_at.estimate, ends_at.estimate)
    )

    assert free.performance.alpha_bps.low > 0.0
    assert "an edge at 0.00 bp a fill" in free.answer
    assert f"alpha ends at {ends_at.estimate:.2f}" in free.answer
    assert dear.performance.alpha_bps.high < 0.0
    assert "no edge" in dear.answer
    assert dear.break_even_cost_bps.estimate == pytest.approx(ends_at.estimate, rel=0.02)
    assert abs(at_end.performance.alpha_bps.estimate) < 0.02 * free.performance.alpha_bps.estimate
