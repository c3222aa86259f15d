from __future__ import annotations

import pytest

from tradingbot.evaluation.statistics.deflation import trial_variance


def test_variance_of_trials_that_differ_is_their_sample_variance() -> None:
    assert trial_variance([0.1, 0.3, 0.5], bars=500) == pytest.approx(0.04)


def test_copies_of_a_trial_do_not_make_the_search_smaller() -> None:
    assert trial_variance([0.01] * 30, bars=101) == pytest.approx(0.01)


def test_variance_with_an_unfinished_trial_is_at_least_that_of_luck() -> None:
    assert trial_variance([0.01, 0.011, None], bars=101) == pytest.approx(0.01)
    assert trial_variance([-0.5, 0.5, None], bars=101) == pytest.approx(0.5)


@pytest.mark.parametrize("sharpes", [[], [0.3], [None, None]])
def test_variance_without_two_results_is_that_of_luck(sharpes: list[float | None]) -> None:
    assert trial_variance(sharpes, bars=101) == pytest.approx(0.01)
