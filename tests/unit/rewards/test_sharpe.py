"""Sharpe contribution: the change of progress to the target."""

from __future__ import annotations

import pytest

from fixtures.reward_steps import term_of

PLAIN = {"bars_per_year": 100.0, "warmup_bars": 0.0, "target": 10.0}
"""Progress = mean ÷ root mean square."""


def test_first_return_of_an_episode_counts_from_nothing() -> None:
    value = term_of("sharpe", PLAIN, steps=1.0, return_sum=0.01, return_squares=0.0001)
    assert value == pytest.approx(1.0)


def test_contribution_is_the_difference_of_progress() -> None:
    # Returns 3 %, then −1 %: mean 1 %, rms √5 %; before: 3 % over 3 %.
    value = term_of(
        "sharpe",
        PLAIN,
        steps=2.0,
        return_sum=0.02,
        return_squares=0.001,
        return_sum_before=0.03,
        return_squares_before=0.0009,
    )
    assert value == pytest.approx(1.0 / 5.0**0.5 - 1.0)


def test_defaults_damp_the_first_returns() -> None:
    # √1764 · 1 · 1 / 501
    value = term_of("sharpe", steps=1.0, return_sum=-0.01, return_squares=0.0001)
    assert value == pytest.approx(-42.0 / 501.0)


def test_beyond_the_target_nothing_is_paid() -> None:
    value = term_of(
        "sharpe",
        {"target": 0.5},
        steps=2001.0,
        return_sum=2001.0 * 0.01,
        return_squares=2001.0 * 0.0001,
        return_sum_before=20.0,
        return_squares_before=0.2,
    )
    assert value == 0.0


def test_returns_below_the_floor_do_not_explode() -> None:
    # rms is taken as 1e-6: 1e-9 / 1e-6
    value = term_of("sharpe", PLAIN, steps=1.0, return_sum=1e-9, return_squares=1e-18)
    assert value == pytest.approx(1e-3)
