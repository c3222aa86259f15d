"""The arithmetic of a portfolio's bar, by hand: gap, moving capital, debts, what cannot move."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tradingbot.envs.portfolio.accounting import (
    LOWEST_FACTOR,
    Rebalanced,
    SleeveMoves,
    attainable,
    rebalance,
)


def test_rebalance_hand_computed():
    # Half in a sleeve that gaps up 10 %, half in cash: 1.05, of which 0.55 / 1.05 in the sleeve.
    moves = SleeveMoves(np.array([1.1]), np.array([1.2]), np.array([0.8]), np.array([True]))
    made = rebalance(np.array([0.5, 0.5]), np.array([1.0, 0.0]), moves, cost_frac=0.01)
    moved = 1.0 - 0.55 / 1.05
    assert made.turnover_frac == pytest.approx(0.8 * moved)
    assert made.cost == pytest.approx(1.0 - 0.008 * moved)
    assert made.growth == pytest.approx(1.05 * 1.2)
    assert made.weights.tolist() == [1.0, 0.0]


def test_rebalance_weights_drift_within_the_bar():
    moves = SleeveMoves(np.array([1.0]), np.array([1.2]), np.array([0.0]), np.array([True]))
    made = rebalance(np.array([0.5, 0.5]), np.array([0.5, 0.5]), moves, cost_frac=0.01)
    assert made.weights.tolist() == pytest.approx([0.6 / 1.1, 0.5 / 1.1])


def test_new_weights_do_not_earn_the_gap():
    """Capital that is moved at the open must not have earned from the close before."""
    moves = SleeveMoves(np.array([1.5, 1.0]), np.array([1.0, 1.0]), np.zeros(2), np.ones(2, bool))
    made = rebalance(np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]), moves, cost_frac=0.0)
    assert made.growth == 1.0


def moves_of(gap, within, exposure, movable):
    return SleeveMoves(np.array(gap), np.array(within), np.array(exposure), np.array(movable))


def test_rebalance_debt_within_the_bar_is_charged_to_cash():
    moves = moves_of([1.0, 1.0], [-4.0, 1.0], [1.0, 1.0], [True, True])
    made = rebalance(np.array([0.1, 0.5, 0.4]), np.array([0.1, 0.5, 0.4]), moves, 0.01)
    assert made.growth == pytest.approx(0.5)  # 0.1 became −0.4
    assert made.weights.tolist() == pytest.approx([0.0, 1.0, 0.0])


def test_rebalance_debt_beyond_cash_waits_for_the_next_open():
    moves = moves_of([1.0, 1.0], [-4.0, 1.0], [1.0, 1.0], [True, True])
    made = rebalance(np.array([0.1, 0.9, 0.0]), np.array([0.1, 0.9, 0.0]), moves, 0.01)
    assert made.weights.tolist() == pytest.approx([0.0, 1.8, -0.8])
    calm = moves_of([1.0, 1.0], [1.0, 1.0], [0.0, 1.0], [False, True])
    paid = rebalance(made.weights, np.array([0.0, 1.0, 0.0]), calm, 0.01)
    assert paid.weights.tolist() == pytest.approx([0.0, 1.0, 0.0])
    assert paid.turnover_frac == pytest.approx(0.8)


def test_rebalance_debt_at_the_open_stays_with_the_portfolio():
    moves = moves_of([-2.0], [1.5], [0.0], [False])  # 0.2 is −0.4 at the open, −0.6 at the close
    made = rebalance(np.array([0.2, 0.8]), np.array([1.0, 0.0]), moves, 0.01)
    assert made.growth == pytest.approx(0.2)
    assert made.turnover_frac == 0.0
    assert made.weights.tolist() == [0.0, 1.0]


def test_rebalance_ruin_at_the_open_moves_nothing_and_is_finite():
    moves = moves_of([-4.0, 1.0], [1.25, 1.0], [0.0, 1.0], [False, True])
    made = rebalance(np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.0, 1.0]), moves, 0.01)
    assert made.growth == made.total == pytest.approx(0.5 - 2.5)
    assert made.turnover_frac == 0.0
    assert made.weights.tolist() == [0.0, 0.0, 1.0]
    assert made.reward_terms == {"growth": math.log(LOWEST_FACTOR), "rebalancing": 0.0}


def test_rebalance_cost_beyond_all_capital_leaves_nothing():
    moves = moves_of([1.0], [1.0], [1e9], [True])
    made = rebalance(np.array([0.0, 1.0]), np.array([1.0, 0.0]), moves, 0.01)
    assert made.total == 0.0
    assert math.isfinite(sum(made.reward_terms.values()))


def test_total_cost_makes_a_debt_larger():
    assert Rebalanced(-1.0, 0.9, np.zeros(2), 0.1).total == pytest.approx(-1.1)


@pytest.mark.parametrize(
    ("at_open", "wanted", "expected"),
    [
        # Meant to join what cannot move: waits in cash.
        ([0.2, 0.5, 0.3], [0.7, 0.3, 0.0], [0.2, 0.3, 0.5]),
        # Meant to leave it: cash gives way first …
        ([0.4, 0.3, 0.3], [0.0, 0.5, 0.5], [0.4, 0.5, 0.1]),
        # … then the others.
        ([0.4, 0.3, 0.3], [0.0, 1.0, 0.0], [0.4, 0.6, 0.0]),
        # It is more than there is: the debt stays, the others are sold.
        ([1.5, 0.0, -0.5], [0.0, 1.0, 0.0], [1.5, 0.0, -0.5]),
    ],
)
def test_attainable_first_sleeve_fixed_keeps_its_weight(at_open, wanted, expected):
    got = attainable(np.array(at_open), np.array(wanted), np.array([False, True]))
    assert got.tolist() == pytest.approx(expected)
