"""The calculators of the five objectives, by hand."""

from __future__ import annotations

import math

import pytest

from fixtures.reward_steps import term_of
from tradingbot.rewards import registered_terms, reward_preset
from tradingbot.rewards.term import OBJECTIVES


def test_preset_has_one_term_for_each_objective_with_the_plans_weights() -> None:
    weights = {
        registered_terms()[name].objective: weight
        for name, weight in reward_preset("objectives").weights.items()
    }
    expected = dict(zip(OBJECTIVES, (0.40, 0.25, 0.15, 0.10, 0.10), strict=True))
    assert weights == expected


@pytest.mark.parametrize(
    ("realised", "gain", "expected"),
    [(0.002, 0.002, 0.2), (0.0, 0.002, 0.06), (0.004, 0.001, 0.31)],
)
def test_profit_counts_what_is_realised_and_part_of_the_rest(
    realised: float, gain: float, expected: float
) -> None:
    assert term_of("roi", realised=realised, gain=gain) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("gain", "power", "expected"),
    [(0.01, 0.0, 0.0), (-0.02, 0.0, 0.0), (-0.03, 0.0, -0.75), (0.0, 0.01**2, -0.05)],
)
def test_risk_counts_losses_and_uneven_returns(gain: float, power: float, expected: float) -> None:
    value = term_of("loss", gain=gain, return_mean=0.0, return_power=power)
    assert value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("novelty", "voluntary", "expected"),
    [(1.0, 1, 0.1), (0.2, 1, 0.1), (0.1, 1, 0.05), (1.0, 0, 0.0)],
)
def test_activity_pays_an_action_once_in_ten_steps(
    novelty: float, voluntary: int, expected: float
) -> None:
    value = term_of("frequency", novelty=novelty, voluntary=voluntary)
    assert value == pytest.approx(expected)


def test_exploration_fades_within_an_episode() -> None:
    first, later = (term_of("novelty", novelty=1.0, voluntary=1, steps=n) for n in (1, 1_000))
    assert first == pytest.approx(0.2 / 1.001)
    assert later == pytest.approx(0.1)
    assert math.isclose(term_of("novelty", novelty=1.0, voluntary=0, steps=1), 0.0)
