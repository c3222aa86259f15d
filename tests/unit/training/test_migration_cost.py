"""Which factor a migrated mean gets, and how what is lost is told."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.training.migration_cost import FACTORS, choose_factor, measure_cost

BP = 1e-4


def earning(bp: float, spread: float = 0.0) -> np.ndarray:
    """Returns of two agents over 400 bars, with this mean."""
    noise = np.random.default_rng(1).normal(0.0, 1.0, (400, 2))
    return (bp + spread * (noise - noise.mean())) * BP


def test_smallest_factor_that_keeps_the_result_is_taken_and_no_larger_one_tried() -> None:
    earned = {1.0: 0.2, 2.0: 0.9, 4.0: 1.1, 8.0: 3.0}

    found = choose_factor(earning(1.0), lambda factor: earning(earned[factor]))

    assert found.factor == 4.0
    assert found.continuous_bp == pytest.approx({1.0: 0.2, 2.0: 0.9, 4.0: 1.1})
    assert (found.bars, found.discrete_bp) == (400, pytest.approx(1.0))


def test_factor_that_earns_most_is_taken_where_none_keeps_the_result() -> None:
    earned = dict(zip(FACTORS, (0.1, 0.5, 0.8, 0.7, 0.6), strict=True))

    found = choose_factor(earning(1.0), lambda factor: earning(earned[factor]))

    assert found.factor == 4.0
    assert list(found.continuous_bp) == list(FACTORS)


def test_cost_is_a_share_of_what_was_earned_and_a_difference_with_its_interval() -> None:
    cost = measure_cost("validation", earning(1.0, 0.3), earning(0.8, 0.3))

    assert cost.degradation_frac == pytest.approx(0.2)
    assert cost.difference_bp.estimate == pytest.approx(-0.2)
    assert cost.difference_bp.low <= -0.2 <= cost.difference_bp.high
    # Bars that both had alike are no uncertainty of the difference.
    assert cost.difference_bp.high < 0.0
    assert cost.discrete_bp.high - cost.discrete_bp.low > 0.01


def test_policy_that_earned_nothing_has_a_difference_and_no_share() -> None:
    cost = measure_cost("validation", earning(-0.5), earning(-0.4))

    assert cost.degradation_frac is None
    assert cost.difference_bp.estimate == pytest.approx(0.1)
