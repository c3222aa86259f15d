"""Chronological splits: where the parts lie and what is refused."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.splits import (
    Gap,
    IndexRange,
    Split,
    SplitDates,
    split_by_date,
    split_by_ratio,
)
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.timeframe import BarGrid, Timeframe

NO_GAP = Gap(0, 0, 0)


def grid(length: int) -> np.ndarray:
    return np.datetime64("2024-01-01T00:00", "us") + np.arange(length) * np.timedelta64(1, "h")


def test_split_by_ratio_without_gap_is_70_15_15():
    split = split_by_ratio(grid(200), gap=NO_GAP)
    assert (split.train, split.validation, split.test) == (
        IndexRange(0, 140), IndexRange(140, 170), IndexRange(170, 200),
    )  # fmt: skip
    assert split.dropped == ()


def test_periods_name_the_days_of_each_part_by_the_close_of_their_bars():
    hours = grid(24 * 20 + 1)[1:]  # the bar that closes at midnight belongs to the day before

    periods = split_by_ratio(hours, ratios=(0.5, 0.25, 0.25), gap=NO_GAP).periods(hours)

    assert {name: str(period) for name, period in periods.items()} == {
        "train": "2024-01-01 … 2024-01-10, 240 bars",
        "validation": "2024-01-11 … 2024-01-15, 120 bars",
        "test": "2024-01-16 … 2024-01-20, 120 bars",
    }


def test_split_by_ratio_takes_purge_before_and_embargo_after_each_boundary():
    split = split_by_ratio(grid(200), gap=Gap(purge_bars=3, embargo_bars=2))
    assert (split.train, split.validation, split.test) == (
        IndexRange(0, 137), IndexRange(142, 167), IndexRange(172, 200),
    )  # fmt: skip
    assert split.dropped == (IndexRange(137, 142), IndexRange(167, 172))


def test_split_by_date_default_is_the_specified_one():
    calendar = TradingCalendar.load("XNYS", date(2023, 9, 1), date(2025, 10, 31))
    bars = calendar.bar_closes(Timeframe.parse("1h"), BarGrid.SESSION)
    closed_at = bars["closed_at"].dt.replace_time_zone(None).to_numpy()
    split = split_by_date(closed_at, gap=NO_GAP)
    days = [
        str(closed_at[index].astype("datetime64[D]"))
        for part in (split.train, split.validation, split.test)
        for index in (part.start, part.stop - 1)
    ]
    assert days == [
        "2023-10-02", "2024-12-31", "2025-01-02", "2025-07-31", "2025-08-01", "2025-10-01",
    ]  # fmt: skip
    assert len(split.dropped) == 2  # September before, October after


def test_split_by_date_gives_a_midnight_close_to_the_day_that_ended():
    dates = SplitDates(date(2024, 1, 1), date(2024, 1, 3), date(2024, 1, 4), date(2024, 1, 4))
    split = split_by_date(grid(200)[1:], dates=dates, gap=NO_GAP)
    assert (len(split.train), len(split.validation), len(split.test)) == (48, 24, 24)


@pytest.mark.parametrize(
    "ratios", [(0.7, 0.2, 0.2), (1.0, 0.0, 0.0), (0.8, -0.1, 0.3), (0.5, 0.2, 0.2)]
)
def test_split_by_ratio_bad_shares_are_refused(ratios):
    with pytest.raises(ConfigError, match="sum to 1"):
        split_by_ratio(grid(100), ratios=ratios)


@pytest.mark.parametrize("length", [0, 1, 3, 40])
def test_split_by_ratio_too_short_a_grid_is_refused(length):
    with pytest.raises(DataError, match="must have a bar"):
        split_by_ratio(grid(length))


def test_split_by_date_without_a_bar_in_a_part_is_refused():
    with pytest.raises(DataError, match="train must have a bar"):
        split_by_date(grid(1000), dates=SplitDates(date(2020, 1, 1), date(2020, 1, 2)))


@pytest.mark.parametrize("times", [grid(5)[::-1], np.repeat(grid(5), 2), grid(4).reshape(2, 2)])
def test_split_times_must_increase(times):
    with pytest.raises(DataError, match="strictly increasing"):
        split_by_ratio(times)


def test_gap_label_horizon_longer_than_purge_is_refused():
    with pytest.raises(ConfigError, match=r"purge 2, horizon 3.*purge_bars=3"):
        Gap(purge_bars=2, label_horizon_bars=3)
    assert Gap(purge_bars=3, label_horizon_bars=3).embargo_bars == 7


@pytest.mark.parametrize("field", ["purge_bars", "embargo_bars", "label_horizon_bars"])
def test_gap_negative_length_is_refused(field):
    with pytest.raises(ConfigError, match=f"{field} must not be negative"):
        Gap(**{field: -1})


def test_split_dates_out_of_order_are_refused():
    with pytest.raises(ConfigError, match="in order"):
        SplitDates(validation_from=date(2026, 1, 1))


@pytest.mark.parametrize(
    ("train", "validation", "test", "message"),
    [
        ((0, 50), (49, 70), (80, 90), "at least 2 bars after train ends, was -1"),
        ((0, 50), (51, 70), (80, 90), "at least 2 bars after train ends, was 1"),
        ((0, 50), (60, 70), (71, 90), "test must begin"),
        ((0, 0), (60, 70), (80, 90), "train must have a bar"),
        ((0, 50), (60, 70), (80, 101), "lie on the grid"),
    ],
)
def test_split_that_leaks_cannot_be_built(train, validation, test, message):
    parts = [IndexRange(*part) for part in (train, validation, test)]
    with pytest.raises(DataError, match=message):
        Split(100, *parts, Gap(1, 1))


@pytest.mark.parametrize(
    ("start", "stop", "use"),
    [
        (0, 10, "earlier"),
        (0, 11, "learned"),
        (19, 45, "learned"),
        (20, 22, "none"),
        (20, 23, "chosen"),
        (20, 25, "chosen"),
        (29, 50, "chosen"),
        (30, 32, "none"),
        (30, 50, "none"),
    ],
)
def test_use_of_bars_is_the_strongest_that_any_of_them_had(start, stop, use):
    parts = (IndexRange(10, 20), IndexRange(22, 30), IndexRange(32, 50))
    split = Split(50, *parts, Gap(purge_bars=1, embargo_bars=1))
    assert split.use_of(IndexRange(start, stop)) == use


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (4, 3)])
def test_index_range_backwards_or_negative_is_refused(start, stop):
    with pytest.raises(DataError, match="start ≤ stop"):
        IndexRange(start, stop)


@given(
    length=st.integers(50, 600), purge=st.integers(0, 9), embargo=st.integers(0, 9),
    shares=st.tuples(*[st.integers(1, 6)] * 3),
)  # fmt: skip
def test_split_by_ratio_accounts_for_every_bar_once_in_order(length, purge, embargo, shares):
    ratios = tuple(share / sum(shares) for share in shares)
    assume(length * min(ratios) > purge + embargo + 2)
    split = split_by_ratio(grid(length), ratios=ratios, gap=Gap(purge, embargo, purge))
    parts = [split.train, split.validation, split.test]
    everything = np.sort(np.concatenate([p.indices() for p in (*parts, *split.dropped)]))
    assert everything.tolist() == list(range(length))
    for earlier, later in pairwise(parts):
        # Labels of the earlier part end before the later begins.
        assert earlier.indices()[-1] + purge < later.indices()[0] - embargo
