"""Policies that know nothing trade as much as asked, earn what the market gives, and pay for it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.analyses.placebos.random_policies import (
    ChanceSharpes,
    random_policies_null,
    shifted_positions_null,
)
from tradingbot.evaluation.statistics.sharpe import sharpe_ratio

MARKET = np.random.default_rng(1).standard_normal((600, 5)) * 0.01


def test_turnover_is_the_one_asked_for() -> None:
    # A market that pays nothing leaves the costs alone: the mean net return is −cost × turnover.
    still = np.full((4000, 3), 0.0)
    still[0] = 1e-9
    for turnover, exposure, short in ((0.1, 0.3, False), (0.3, 0.5, False), (0.2, 0.8, True)):
        chance = random_policies_null(
            still + 1e-12, turnover=turnover, exposure=exposure, short=short,
            cost_frac=0.01, n_policies=20,
        )  # fmt: skip
        # Σ of costs per bar is binomial: mean −c·τ, so that the ratio pins τ from below and above.
        rate = turnover / (2.0 * exposure) if short else turnover
        expected = -math.sqrt(rate / (1.0 - rate) * 3.0)
        assert chance.sharpes.mean() == pytest.approx(expected, rel=0.15)


def test_drift_is_earned_by_chance_in_proportion_to_exposure() -> None:
    drifting = np.full((3000, 40), 0.001) + MARKET[:1, :1] * 0.0
    drifting[::2] += 0.002
    invested = random_policies_null(drifting, turnover=0.1, exposure=0.5, n_policies=50)
    both_ways = random_policies_null(
        drifting, turnover=0.1, exposure=0.5, n_policies=50, short=True
    )
    assert invested.sharpes.min() > 0.5
    assert abs(both_ways.sharpes.mean()) < 0.1


def test_twice_the_position_pays_and_earns_twice() -> None:
    small, large = (
        random_policies_null(
            MARKET, turnover=size / 2, exposure=size, short=True, cost_frac=0.001, n_policies=20
        )
        for size in (0.4, 0.8)
    )
    assert small.sharpes == pytest.approx(large.sharpes)


def test_costs_lower_what_chance_earns() -> None:
    free, dear = (
        random_policies_null(MARKET, turnover=0.2, exposure=0.5, cost_frac=cost, n_policies=200)
        for cost in (0.0, 0.01)
    )
    assert dear.sharpes.mean() < free.sharpes.mean() - 0.2


def test_chance_is_the_same_for_the_same_seed() -> None:
    one, two, other = (
        random_policies_null(MARKET, turnover=0.2, exposure=0.5, n_policies=30, seed=seed).sharpes
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def p_values_of(positions: np.ndarray) -> tuple[float, float]:
    """Of a policy's positions, against coins and against its own positions at other times."""
    sharpe = sharpe_ratio((positions * MARKET).mean(axis=1))
    turnover = float(np.abs(np.diff(positions, axis=0)).mean())
    exposure = float(positions.mean())
    coins = random_policies_null(MARKET, turnover=turnover, exposure=exposure, n_policies=150)
    shifts = shifted_positions_null(positions, MARKET, n_policies=150)
    return coins.p_value(sharpe), shifts.p_value(sharpe)


def test_skill_stands_out() -> None:
    blurred = MARKET + 0.03 * np.random.default_rng(2).standard_normal(MARKET.shape)
    assert max(p_values_of((blurred > 0.0).astype(float))) < 0.01


def test_luck_does_not_stand_out_more_often_than_it_should() -> None:
    generator = np.random.default_rng(3)
    found = np.array([p_values_of(1.0 * (generator.random(MARKET.shape) < 0.4)) for _ in range(40)])

    assert found.mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.2)
    assert ((found < 0.05).mean(axis=0) <= 0.15).all()


def test_shifted_positions_are_the_policys_own() -> None:
    positions = np.random.default_rng(3).random(MARKET.shape)
    chance = shifted_positions_null(positions, MARKET, cost_frac=0.001, n_policies=4000)
    expected = set()
    for shift in range(1, 600):
        held = np.roll(positions, shift, axis=0)
        traded = np.abs(np.diff(held, axis=0, prepend=np.zeros((1, 5))))
        expected.add(round(sharpe_ratio((held * MARKET - 0.001 * traded).mean(axis=1)), 10))
    assert {round(float(sharpe), 10) for sharpe in chance.sharpes} <= expected


def test_p_value_counts_the_policy_itself() -> None:
    chance = ChanceSharpes(np.array([0.0, 0.1, 0.2]))
    assert chance.p_value(9.0) == 0.25
    assert chance.p_value(-9.0) == 1.0
    assert chance.p_value(0.1) == 0.75
    assert math.isnan(chance.p_value(math.nan))


@pytest.mark.parametrize(
    ("turnover", "exposure"), [(0.0, 0.5), (1.1, 0.5), (0.1, 0.0), (0.1, 1.0), (0.1, math.nan)]
)
def test_turnover_that_no_coin_has_is_refused(turnover: float, exposure: float) -> None:
    with pytest.raises(ConfigError, match="must"):
        random_policies_null(MARKET, turnover=turnover, exposure=exposure)


def test_other_mistakes_are_refused() -> None:
    with pytest.raises(ConfigError, match="cost_frac"):
        random_policies_null(MARKET, turnover=0.1, cost_frac=-0.1)
    with pytest.raises(ConfigError, match="n_policies"):
        random_policies_null(MARKET, turnover=0.1, n_policies=0)
    with pytest.raises(DataError, match="8 rows"):
        random_policies_null(MARKET[:7], turnover=0.1)
    with pytest.raises(DataError, match="shape of returns"):
        shifted_positions_null(MARKET[1:], MARKET)
    with pytest.raises(DataError, match="finite"):
        shifted_positions_null(MARKET * np.nan, MARKET)
