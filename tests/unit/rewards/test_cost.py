"""Cost: a penalty in proportion."""

from __future__ import annotations

import pytest

from fixtures.reward_steps import term_of


def test_cost_of_a_full_position_at_default_rates() -> None:
    assert term_of("cost", cost=1.2e-4) == pytest.approx(-0.012)


def test_no_trade_costs_nothing() -> None:
    assert term_of("cost") == 0.0


def test_scale_is_an_option() -> None:
    assert term_of("cost", {"scale": 10.0}, cost=0.01) == pytest.approx(-0.1)
