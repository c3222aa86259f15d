"""The dynamic programme against brute force, known limits and pinned values."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.evaluation.oracle.action_rule import ActionRule
from tradingbot.evaluation.oracle.switching import (
    SignalModel,
    SwitchingProblem,
    discretise,
    gain_per_bar,
    solve_advantage,
    solve_signal,
)

COST = 1.2e-4


def planted(kappa: float, phi: float = 0.9) -> SignalModel:
    return SignalModel(kappa * 0.006, phi, 0.006)


def brute_force_gain(problem: SwitchingProblem, positions: np.ndarray, cost: float) -> float:
    """Relative value iteration over every pair of state and position, no structure assumed."""
    change = cost * np.abs(positions[None, :] - positions[:, None])  # (from, to)
    reward = problem.expected_return[:, None] * positions[None, :]  # (S, to)
    worth = np.zeros((len(problem.stationary), len(positions)))
    low = high = 0.0
    for _ in range(20_000):
        after = reward + problem.transition @ worth  # (S, to)
        update = (after[:, None, :] - change[None, :, :]).max(axis=2)
        low, high = (update - worth).min(), (update - worth).max()
        worth = update - update[0, 0]
        if high - low < 1e-13:
            break
    return float(0.5 * (low + high))


def random_chain(rng: np.random.Generator, states: int) -> SwitchingProblem:
    transition = rng.dirichlet(np.full(states, 0.5), size=states) + 0.9 * np.eye(states)
    transition /= transition.sum(axis=1, keepdims=True)
    stationary = np.linalg.matrix_power(transition, 4096)[0]
    return SwitchingProblem(transition, stationary, rng.normal(1e-4, 3e-4, states))


@pytest.mark.parametrize(
    ("kappa", "net_bps", "enter"), [(0.10, 2.2546, 0.1518), (0.05, 1.0757, 0.2499)]
)
def test_planted_signal_has_the_pinned_answer(kappa, net_bps, enter):
    thresholds, gain = solve_signal(planted(kappa), cost_frac=COST)

    assert gain * 1e4 == pytest.approx(net_bps, abs=2e-4)
    assert thresholds.enter == pytest.approx(enter, abs=2e-4)
    assert thresholds.exit == pytest.approx(-enter, abs=2e-4)


@pytest.mark.parametrize("cost", [0.0, COST])
def test_signal_without_strength_is_worth_exactly_nothing_and_never_traded(cost):
    thresholds, gain = solve_signal(planted(0.0), cost_frac=cost)

    assert gain == 0.0
    assert thresholds.is_flat


def test_cost_beyond_any_edge_gives_the_flat_policy():
    thresholds, gain = solve_signal(planted(0.001, phi=0.0), cost_frac=0.01)

    assert thresholds.is_flat
    assert gain == 0.0


@pytest.mark.parametrize("model", [planted(0.1), planted(0.05), planted(0.01, 0.2)])
def test_grid_refinement_moves_the_value_by_less_than_a_thousandth_of_a_basis_point(model):
    values = [solve_signal(model, cost_frac=COST, nodes=n)[1] * 1e4 for n in (301, 601, 1201)]

    assert values[1] == pytest.approx(values[2], abs=1e-3)
    assert values[0] == pytest.approx(values[2], abs=2e-3)


@pytest.mark.parametrize("rule", list(ActionRule))
@pytest.mark.parametrize("model", [planted(0.05), planted(0.02, 0.5)])
def test_layer_solution_equals_brute_force_over_a_grid_of_positions(model, rule):
    _, problem = discretise(model, nodes=81)
    advantage = solve_advantage(problem, cost_frac=COST)

    gain = gain_per_bar(problem, advantage, cost_frac=COST, action_rule=rule)

    brute = brute_force_gain(problem, np.linspace(rule.lowest, 1.0, 5), COST)
    assert float(gain) == pytest.approx(brute, abs=1e-11)
    assert brute > 0


@pytest.mark.parametrize("rule", list(ActionRule))
@pytest.mark.parametrize("seed", range(6))
def test_chain_with_drift_equals_brute_force_over_a_grid_of_positions(seed, rule):
    problem = random_chain(np.random.default_rng(seed), states=5)
    advantage = solve_advantage(problem, cost_frac=2e-4)

    gain = gain_per_bar(problem, advantage, cost_frac=2e-4, action_rule=rule)

    brute = brute_force_gain(problem, np.linspace(rule.lowest, 1.0, 5), 2e-4)
    assert float(gain) == pytest.approx(brute, abs=1e-11)


def test_more_cost_never_raises_the_value_and_widens_the_band():
    costs = np.linspace(0.0, 6e-4, 13)
    solved = [solve_signal(planted(0.1), cost_frac=float(cost), nodes=301) for cost in costs]

    assert np.all(np.diff([gain for _, gain in solved]) < 0)
    assert np.all(np.diff([thresholds.enter for thresholds, _ in solved]) > 0)


def test_thresholds_vanish_with_the_cost():
    thresholds, gain = solve_signal(planted(0.1), cost_frac=0.0)

    assert thresholds.enter == pytest.approx(0.0, abs=1e-9)
    assert thresholds.exit == pytest.approx(0.0, abs=1e-9)
    assert gain == pytest.approx(6e-4 / np.sqrt(2 * np.pi), rel=1e-3)


def test_long_short_is_worth_twice_long_only_where_the_mean_return_is_zero():
    _, long_only = solve_signal(planted(0.1), cost_frac=COST)
    _, long_short = solve_signal(planted(0.1), cost_frac=COST, action_rule=ActionRule.LONG_SHORT)

    assert long_short == pytest.approx(2.0 * long_only, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_long_short_is_never_worth_less_than_long_only(seed):
    problem = random_chain(np.random.default_rng(100 + seed), states=4)
    advantage = solve_advantage(problem, cost_frac=COST)

    values = [
        float(gain_per_bar(problem, advantage, cost_frac=COST, action_rule=rule))
        for rule in (ActionRule.LONG_ONLY, ActionRule.LONG_SHORT)
    ]

    assert values[1] >= values[0] - 1e-15 >= -1e-15
