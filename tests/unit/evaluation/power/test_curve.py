"""Shares found along a ladder, and the weakest signal that is found often enough."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tradingbot.evaluation.dossier.power import PowerRung, PowerTrial
from tradingbot.evaluation.power.curve import count_rungs, reached_at, rising, smallest_edge
from tradingbot.evaluation.statistics.interval import Interval, wilson_interval


def worth(kappa: float) -> float:
    return 20.0 * kappa


def trial(kappa, repetition, *, low=1.0, agents=3, failed=""):
    return PowerTrial(kappa, repetition, 1, 2, agents, Interval(2.0, low, 3.0), 2.5, failed)


def rungs_of(kappas, found, n=20):
    return [
        PowerRung(kappa, worth(kappa), n, wilson_interval(count, n), count / n, 0.0)
        for kappa, count in zip(kappas, found, strict=True)
    ]


def test_a_trial_counts_where_agents_trade_and_earn_beyond_their_error():
    trials = [
        trial(0.1, 0),
        trial(0.1, 1, low=-0.1),
        trial(0.1, 2, agents=0),
        trial(0.1, 3, failed="halted"),
        trial(0.0, 0, low=-1.0),
    ]

    null, rung = count_rungs(trials, worth)

    assert (null.kappa, null.found.estimate, null.n_trials) == (0.0, 0.0, 1)
    assert (rung.kappa, rung.edge_bps, rung.n_trials) == (0.1, 2.0, 4)
    assert rung.found == wilson_interval(1, 4)
    assert rung.admitted_frac == 0.5


def test_shares_that_fall_are_pooled_by_their_weights():
    shares, weights = np.array([0.0, 0.6, 0.3, 0.9]), np.array([1.0, 1.0, 2.0, 1.0])

    np.testing.assert_allclose(rising(shares, weights), [0.0, 0.4, 0.4, 0.9])


@pytest.mark.parametrize(
    ("shares", "kappa"),
    [
        ([0.0, 0.6, 1.0], 0.075),
        ([0.9, 0.9, 1.0], 0.0),
        ([0.0, 0.5, 0.79], math.inf),
        ([0.0, 0.8, 1.0], 0.05),
    ],
)
def test_probability_is_reached_on_the_straight_line_between_strengths(shares, kappa):
    assert reached_at(np.array([0.0, 0.05, 0.1]), np.array(shares), 0.8) == pytest.approx(kappa)


def test_smallest_edge_has_an_interval_in_strength_and_in_what_it_is_worth():
    found = smallest_edge(rungs_of([0.0, 0.05, 0.1], [0, 12, 20]), worth, probability=0.8)

    assert found.is_reached
    assert found.kappa.estimate == pytest.approx(0.075)
    assert 0.05 <= found.kappa.low < 0.075 < found.kappa.high <= 0.1
    assert found.edge_bps.estimate == pytest.approx(1.5)
    assert found.edge_bps.high == pytest.approx(worth(found.kappa.high))


def test_smallest_edge_that_no_strength_reaches_is_infinite():
    found = smallest_edge(rungs_of([0.0, 0.1], [0, 4]), worth, probability=0.8)

    assert not found.is_reached
    assert math.isinf(found.edge_bps.estimate)


def test_upper_end_is_infinite_where_too_few_trials_leave_it_open():
    found = smallest_edge(rungs_of([0.0, 0.1], [0, 4], n=4), worth, probability=0.8)

    assert found.is_reached
    assert math.isinf(found.kappa.high)


def test_interval_covers_the_truth_of_a_known_curve():
    """Shares found rise by a straight line, so that the point at 80 % is known: κ = 0.08."""
    kappas = np.array([0.0, 0.02, 0.04, 0.06, 0.08, 0.1])
    generator = np.random.default_rng(3)

    covered = [
        smallest_edge(
            rungs_of(kappas, generator.binomial(20, 10.0 * kappas)), worth, probability=0.8
        ).kappa.covers(0.08)
        for _ in range(60)
    ]

    assert np.mean(covered) >= 0.9
