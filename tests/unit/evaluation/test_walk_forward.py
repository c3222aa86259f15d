"""Windows follow each other, and nobody trades a day that he learned from."""

from __future__ import annotations

import itertools

import pytest

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.walk_forward import WalkForwardSettings, plan_windows


def test_windows_follow_by_the_step_and_are_grouped_by_training() -> None:
    plan = plan_windows(500, WalkForwardSettings())

    windows = [window for training in plan for window in training.windows]
    assert windows[0] == (250, 310)
    assert {stop - first for first, stop in windows} == {60}
    assert {later[0] - earlier[0] for earlier, later in itertools.pairwise(windows)} == {20}
    assert [len(training.windows) for training in plan] == [3, 3, 3, 1]
    assert windows[-1][1] <= 500


@pytest.mark.parametrize("n_days", [61, 120, 333, 502])
def test_training_and_validation_end_before_the_first_window(n_days: int) -> None:
    settings = WalkForwardSettings(window_days=20, step_days=7, retrain_every=2)

    for training in plan_windows(n_days, settings):
        assert 0 < training.train_stop < training.validation_stop == training.windows[0][0]


def test_one_window_fits_exactly_and_one_day_less_is_refused() -> None:
    settings = WalkForwardSettings(window_days=50)

    assert [each.windows for each in plan_windows(100, settings)] == [((50, 100),)]
    with pytest.raises(DataError, match="was 49 days for a window of 50"):
        plan_windows(99, settings)


@pytest.mark.parametrize(
    "changes",
    [
        {"window_days": 1},
        {"step_days": 0},
        {"retrain_every": 0},
        {"first_share_frac": 1.0},
        {"validation_share_frac": 0.0},
        {"steps_share_frac": 1.5},
        {"window_days": 2.5},
    ],
)
def test_settings_without_meaning_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        WalkForwardSettings(**changes)  # type: ignore[arg-type]
