"""The regime chain's solution and the filter that guesses the regime."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.evaluation.oracle import ActionRule, Information, oracle_for
from tradingbot.evaluation.oracle.action_rule import DEFAULT_COST_FRAC
from tradingbot.evaluation.oracle.known_answers import KnownAnswerCase, generate_on, hourly_grid
from tradingbot.evaluation.oracle.regime_oracle import (
    filter_regimes,
    regime_positions,
    regime_problem,
)
from tradingbot.evaluation.oracle.result import Terms
from tradingbot.evaluation.oracle.switching import SwitchThresholds, gain_per_bar, solve_advantage


@pytest.fixture(scope="module")
def market():
    return generate_on(hourly_grid(60, 3528), KnownAnswerCase("regimes"), 7)


def terms(information, rule=ActionRule.LONG_ONLY):
    return Terms(DEFAULT_COST_FRAC, rule, information)


def drift_earned(market, targets):
    """Expected net return per bar given the path of regimes: the noise is averaged out exactly."""
    held = targets[:-1]
    drift = market.latent["expected_next_return"][:-1]
    traded = np.abs(np.diff(targets, axis=0, prepend=0.0))[:-1]
    return float((held * drift - DEFAULT_COST_FRAC * traded).mean()) * 1e4


@pytest.mark.parametrize("rule", list(ActionRule))
def test_gain_equals_a_long_walk_through_the_chain(market, rule):
    problem = regime_problem(market)
    advantage = solve_advantage(problem, cost_frac=DEFAULT_COST_FRAC)
    gain = gain_per_bar(problem, advantage, cost_frac=DEFAULT_COST_FRAC, action_rule=rule)
    rng = np.random.default_rng(6)
    edges = np.cumsum(problem.transition, axis=1)
    path = np.zeros((4000, 400), dtype=np.int64)  # 400 walks
    path[0] = rng.choice(4, size=400, p=problem.stationary)
    for t in range(1, len(path)):
        path[t] = (rng.random(400)[:, None] > edges[path[t - 1]]).sum(axis=1)

    symbol = 5
    policy = SwitchThresholds(DEFAULT_COST_FRAC, -DEFAULT_COST_FRAC)
    held = policy.positions(advantage[path, symbol], lowest=rule.lowest)
    earned = held * problem.expected_return[path, symbol]
    earned[1:] -= DEFAULT_COST_FRAC * np.abs(np.diff(held, axis=0))

    error = earned.mean(axis=0).std() / np.sqrt(400)
    assert earned.mean() == pytest.approx(float(gain[symbol]), abs=4 * error)
    assert error < 0.05 * gain[symbol]


def test_filter_gives_probabilities_and_beats_knowing_the_shares_only(market):
    beliefs = filter_regimes(market)
    regime = market.latent["regime"]
    counts = np.bincount(regime, minlength=4)[None, :] / len(regime)

    assert np.allclose(beliefs.sum(axis=1), 1.0)
    assert np.all(beliefs >= 0.0)
    truth = np.eye(4)[regime]
    assert np.mean((beliefs - truth) ** 2) < np.mean((counts - truth) ** 2)


def test_attainable_policy_earns_most_of_the_drift_and_never_more_than_all(market):
    advantage = solve_advantage(regime_problem(market), cost_frac=DEFAULT_COST_FRAC)
    omniscient = regime_positions(market, advantage, terms(Information.OMNISCIENT))
    attainable = regime_positions(market, advantage, terms(Information.ATTAINABLE))
    always = np.ones(market.shape)

    best, reached, held = (
        drift_earned(market, targets) for targets in (omniscient, attainable, always)
    )

    assert best > reached > held
    assert reached > 0.5 * best


def test_results_say_what_is_proved_and_what_is_reference(market):
    omniscient = oracle_for(market, information=Information.OMNISCIENT)
    attainable = oracle_for(market)
    short = oracle_for(
        market, information=Information.OMNISCIENT, action_rule=ActionRule.LONG_SHORT
    )

    assert omniscient.is_optimal
    assert not attainable.is_optimal
    assert attainable.expected_net_bps is None
    assert short.expected_net_bps >= omniscient.expected_net_bps > 0.0
    assert omniscient.simulated.net_bps_per_bar.covers(omniscient.expected_net_bps)
    costly = oracle_for(market, information=Information.OMNISCIENT, cost_frac=5e-3)
    assert costly.expected_net_bps < omniscient.expected_net_bps
