from __future__ import annotations

import pytest

from tradingbot.evaluation.trials import trial_variance


def test_variance_of_finished_trials_is_their_sample_variance() -> None:
    assert trial_variance([0.01, 0.03, 0.05], bars=500) == pytest.approx(4e-4)


def test_variance_with_an_unfinished_trial_is_at_least_that_of_luck() -> None:
    assert trial_variance([0.01, 0.011, None], bars=101) == pytest.approx(0.01)
    assert trial_variance([-0.5, 0.5, None], bars=101) == pytest.approx(0.5)


@pytest.mark.parametrize("sharpes", [[], [0.3], [None, None]])
def test_variance_without_two_results_is_that_of_luck(sharpes: list[float | None]) -> None:
    assert trial_variance(sharpes, bars=101) == pytest.approx(0.01)
