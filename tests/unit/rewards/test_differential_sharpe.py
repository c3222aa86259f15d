"""Differential Sharpe: the published formula on numbers worked out by hand."""

from __future__ import annotations

import pytest

from fixtures.reward_steps import term_of


def test_no_history_gives_nothing() -> None:
    assert term_of("differential_sharpe", equity_return=0.01) == 0.0


def test_mean_of_zero_gives_the_return_in_deviations() -> None:
    # A = 0, B = 0.0004: B · r / B^1.5 = r / 0.02
    value = term_of("differential_sharpe", {"scale": 1.0}, equity_return=0.03, return_power=0.0004)
    assert value == pytest.approx(1.5)


def test_general_case() -> None:
    # A = 0.01, B = 0.0005, r = 0.03: B − A² = 0.0004, its 3/2 power 8e-6;
    # B · (r − A) = 1e-5, ½ · A · (r² − B) = ½ · 0.01 · 0.0004 = 2e-6; (1e-5 − 2e-6) / 8e-6 = 1.
    moments = {"return_mean": 0.01, "return_power": 0.0005}

    value = term_of("differential_sharpe", {"scale": 1.0}, equity_return=0.03, **moments)
    assert value == pytest.approx(1.0)
    assert term_of("differential_sharpe", equity_return=0.03, **moments) == pytest.approx(0.1)


def test_impossible_moments_stay_finite() -> None:
    value = term_of("differential_sharpe", equity_return=0.03, return_mean=0.1, return_power=0.0)
    assert abs(value) < 1e18
