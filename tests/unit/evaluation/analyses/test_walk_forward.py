"""Windows follow each other, and no agent trades a day that he learned from."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.analyses import walk_forward
from tradingbot.evaluation.analyses.retraining.spec import TradedPeriod
from tradingbot.evaluation.analyses.settings import WalkForwardSettings
from tradingbot.evaluation.analyses.walk_forward import (
    plan_windows,
    positive_share,
    separate_windows,
)
from tradingbot.evaluation.statistics.interval import wilson_interval


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


@pytest.mark.parametrize(
    ("n_windows", "window", "step", "separate"),
    [(1, 60, 20, 1), (3, 60, 20, 1), (4, 60, 20, 2), (10, 60, 20, 4), (7, 60, 60, 7), (5, 8, 9, 5)],
)
def test_windows_with_days_in_common_count_as_those_that_fit_side_by_side(
    n_windows: int, window: int, step: int, separate: int
) -> None:
    assert separate_windows(n_windows, WalkForwardSettings(window, step)) == separate


@pytest.mark.parametrize(("positive", "n_windows"), [(0, 10), (7, 10), (10, 10), (1, 3), (2, 2)])
def test_share_is_that_of_all_windows_and_its_interval_wider_where_they_overlap(
    positive: int, n_windows: int
) -> None:
    apart, over = WalkForwardSettings(60, 60), WalkForwardSettings(60, 20)
    plain = wilson_interval(positive, n_windows)

    assert positive_share(positive, n_windows, apart) == plain
    found = positive_share(positive, n_windows, over)
    assert found.estimate == positive / n_windows  # to the bit: gates judge it
    assert 0.0 <= found.low <= found.estimate <= found.high <= 1.0
    assert found.high - found.low > plain.high - plain.low


def test_interval_covers_a_coin_where_the_plain_one_does_not() -> None:
    settings, draws = WalkForwardSettings(60, 20), 2_000
    days = np.random.default_rng(7).standard_normal((draws, 60 + 20 * 29))
    sums = np.cumsum(np.pad(days, ((0, 0), (1, 0))), axis=1)
    positive = (sums[:, 60::20] > sums[:, :-60:20]).sum(axis=1)

    def coverage(intervals: list[tuple[float, float, float]]) -> float:
        return float(np.mean([low <= 0.5 <= high for _, low, high in intervals]))

    assert coverage([wilson_interval(int(each), 30) for each in positive]) < 0.85
    assert coverage([positive_share(int(each), 30, settings) for each in positive]) > 0.95


def test_joined_windows_end_where_the_next_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two windows of four bars, the second two bars after the first: each bar counts once."""
    parts = [
        TradedPeriod("one", "", "", (1.0, 2.0, 4.0, 8.0), (1.0,) * 3, (0.1, 0.2, 0.3)),
        TradedPeriod("two", "", "", (1.0, 1.0, 1.0, 1.0), (0.0,) * 3, (0.4, 0.5, 0.6)),
    ]
    starts = {"one": IndexRange(10, 14), "two": IndexRange(12, 16)}
    monkeypatch.setattr(walk_forward, "_bars", lambda _, part: starts[part.part])
    trained = SimpleNamespace(parts=parts)

    net, alpha = walk_forward._joined(SimpleNamespace(), [trained])  # type: ignore[arg-type,list-item]

    assert net.tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert alpha.tolist() == [0.1, 0.2, 0.4, 0.5, 0.6]
