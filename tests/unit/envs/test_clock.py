"""Clocks from outside: any datetime64 is converted exactly, numbers of another unit are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fixtures.trading_worlds import small_world
from tradingbot.domain.errors import DataError
from tradingbot.envs.build_world import world_from_bars
from tradingbot.envs.clock import read_clock

HOURS = np.datetime64("2024-03-01T10", "us") + np.arange(50) * np.timedelta64(1, "h")
DAYS = np.datetime64("2024-03-01", "us") + np.arange(50) * np.timedelta64(1, "D")
EXPECTED = HOURS.astype(np.int64)


@pytest.mark.parametrize("unit", ["h", "m", "s", "ms", "us", "ns"])
def test_clock_of_any_unit_is_converted_exactly(unit: str) -> None:
    assert np.array_equal(read_clock(HOURS.astype(f"datetime64[{unit}]")), EXPECTED)


def test_whole_microseconds_are_taken_as_they_are() -> None:
    assert np.array_equal(read_clock(EXPECTED), EXPECTED)
    assert np.array_equal(read_clock(EXPECTED.tolist()), EXPECTED)


@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
@pytest.mark.parametrize("clock", [HOURS, DAYS], ids=["hours", "days"])
def test_whole_numbers_of_another_unit_are_refused(clock: Any, unit: str) -> None:
    numbers = clock.astype(f"datetime64[{unit}]").astype(np.int64)

    with pytest.raises(DataError, match=r"must be microseconds since 1970 UTC.*datetime64"):
        read_clock(numbers)


@pytest.mark.parametrize(
    ("clock", "message"),
    [
        (EXPECTED.astype(np.float64), r"datetime64 or whole microseconds.*was float64 \(50,\)"),
        (EXPECTED[None], r"was int64 \(1, 50\)"),
        (["2024-03-01", "2024-03-02"], "datetime64 or whole microseconds"),
        (np.array(["2024-03-01", "NaT"], "datetime64[us]"), r"whole microseconds, was NaT \(bar 1"),
        (HOURS.astype("datetime64[ns]") + np.timedelta64(1, "ns"), "whole microseconds"),
        (HOURS[::-1], "in order of time"),
    ],
)
def test_clock_that_cannot_be_read_is_refused(clock: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_clock(clock)


def test_world_of_a_nanosecond_clock_is_that_of_microseconds() -> None:
    world = small_world()
    clock = world.closed_at.astype("datetime64[us]").astype("datetime64[ns]")

    made = world_from_bars(world.prices, world.present, clock, world.symbols)

    assert np.array_equal(made.closed_at, world.closed_at)
