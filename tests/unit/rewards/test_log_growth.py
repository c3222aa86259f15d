"""Log growth: scaled, finite in ruin."""

from __future__ import annotations

import math

import pytest

from fixtures.reward_steps import term_of


@pytest.mark.parametrize("change", [0.0, 0.01, -0.01, 0.5])
def test_growth_is_logarithmic(change: float) -> None:
    value = term_of("log_growth", {"scale": 1.0}, equity_return=change)
    assert value == pytest.approx(math.log(1.0 + change), abs=1e-15)


def test_default_scale_matches_pnl_on_the_default_position() -> None:
    # 10 % on a position of 15 % of equity.
    assert term_of("log_growth", equity_return=0.015) == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("change", [-1.0, -5.0, -1000.0])
def test_ruin_is_finite(change: float) -> None:
    value = term_of("log_growth", {"scale": 1.0}, equity_return=change)
    assert value == pytest.approx(math.log(1e-6), rel=1e-6)
