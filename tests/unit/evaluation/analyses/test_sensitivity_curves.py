"""Break-even and capacity in closed form."""

from __future__ import annotations

import math

import pytest

from tradingbot.evaluation.analyses.sensitivity import break_even_bps, capacity_ccy

COSTS = (0.0, 1.0, 5.0, 20.0)


@pytest.mark.parametrize(("gross", "turnover"), [(3.0, 1.0), (0.4, 0.1), (10.0, 0.6)])
def test_break_even_is_gross_return_by_turnover(gross: float, turnover: float) -> None:
    net = [gross - turnover * cost for cost in COSTS]
    assert break_even_bps(COSTS, net) == pytest.approx(gross / turnover)


def test_break_even_is_none_without_an_edge_and_infinite_beyond_the_axis() -> None:
    assert break_even_bps(COSTS, [-0.1, -1.0, -2.0, -3.0]) is None
    assert break_even_bps(COSTS, [9.0, 8.0, 7.0, 0.1]) == math.inf


@pytest.mark.parametrize("capacity", [2e4, 3e5, 7e7])
def test_capacity_of_a_square_root_is_found_wherever_it_lies(capacity: float) -> None:
    capital = (1e5, 1e6, 1e8)
    net = [4.0 - 2.0 * math.sqrt(each / capacity) for each in capital]
    assert capacity_ccy(capital, net, 4.0) == pytest.approx(capacity)


def test_capacity_is_none_without_an_edge_or_beyond_the_axis() -> None:
    assert capacity_ccy((1e5, 1e6), (-1.0, -2.0), -0.5) is None
    assert capacity_ccy((1e5, 1e6), (1.9, 1.1), 2.0) is None
