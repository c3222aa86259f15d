"""Bars as they close: late, missing, impossible, ahead of time, over half days and holidays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tradingbot.data.schema import BAR_COLUMNS
from tradingbot.data.sources.pacing import Clock
from tradingbot.domain.errors import SourceError, StorageError
from tradingbot.domain.timeframe import BarGrid
from tradingbot.features.inputs import BAR_FIELDS, MarketInputs
from tradingbot.runtime.session.bar_record import BarRecord, SeenBars
from tradingbot.runtime.session.bars import MarketBar, as_datetime64
from tradingbot.runtime.session.clock import ExchangeHours
from tradingbot.runtime.session.live_bars import LATE_S, LiveBars

# Thanksgiving 2025 is the 27th; the 28th closes at 13:00 in New York.
WEDNESDAY = datetime(2025, 11, 26, 21, 0, tzinfo=UTC)
FRIDAY = [datetime(2025, 11, 28, *clock, tzinfo=UTC) for clock in ((15, 30), (16, 30), (17, 30))]
HALF_DAY_END = datetime(2025, 11, 28, 18, 0, tzinfo=UTC)
MONDAY = datetime(2025, 12, 1, 15, 30, tzinfo=UTC)
SYMBOLS = ("A", "B", "C")
PRICES = {"open": 1.0, "high": 2.0, "low": 0.5, "close": 1.5, "volume": 10.0, "vwap": 1.4}


@dataclass
class Told:
    """A supplier that gives what it was told to, and how often it was asked."""

    rows: list[dict[str, object]] = field(default_factory=list)
    n_asked: int = 0
    is_away: bool = False

    def put(self, symbols: str, at: datetime, **prices: float) -> None:
        self.rows += [{"symbol": each, "closed_at": at, **PRICES, **prices} for each in symbols]

    def fetch(self, since: datetime) -> pl.DataFrame:
        self.n_asked += 1
        if self.is_away:
            raise SourceError("the source must answer", was="nothing")
        rows = [each for each in self.rows if each["closed_at"] > since]
        plain = [{name: each.get(name) for name in BAR_COLUMNS} for each in rows]
        return pl.DataFrame(plain, schema=BAR_COLUMNS)


@dataclass
class World:
    """Live bars at a time that the test sets."""

    folder: Path
    told: Told = field(default_factory=Told)
    now: datetime = WEDNESDAY
    last: datetime = WEDNESDAY
    """Close of the last bar of history."""
    live: LiveBars = field(init=False)

    def open(self) -> Callable[[], MarketBar | None]:
        """Return what gives the next bar after history, or None."""
        one = np.ones((1, len(SYMBOLS)))
        history = MarketInputs(
            SYMBOLS,
            np.array([as_datetime64(self.last)]),
            one.astype(bool),
            {name: one * PRICES[name] for name in BAR_FIELDS},
            {},
            "America/New_York",
        )
        first, end = (self.last.date() + timedelta(days=each) for each in (-6, 14))
        hours = ExchangeHours("XNYS", "1h", BarGrid.SESSION, first, end)
        clock = Clock(now=lambda: self.now)
        self.live = LiveBars(history, BarRecord(self.folder), self.told, hours, clock=clock)
        bars = self.live.bars(0)
        return lambda: next(bars)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "bars")


def test_closes_follow_the_calendar_over_a_holiday_and_a_half_day(world: World) -> None:
    expected = [*FRIDAY, HALF_DAY_END, MONDAY]
    for close in expected:
        world.told.put("ABC", close)
    world.now, ask, closes = MONDAY, world.open(), []
    while (bar := ask()) is not None:
        closes.append(bar.closed_at)

    assert closes == expected
    assert world.told.n_asked == 1


@pytest.mark.parametrize(
    ("friday", "monday"),
    [  # the day opens at 9:30 in New York, before and after its clocks change on Sunday
        (datetime(2025, 3, 7, 21, 0, tzinfo=UTC), datetime(2025, 3, 10, 14, 30, tzinfo=UTC)),
        (datetime(2025, 10, 31, 20, 0, tzinfo=UTC), datetime(2025, 11, 3, 15, 30, tzinfo=UTC)),
    ],
)
def test_closes_follow_new_york_when_its_clocks_change(
    tmp_path: Path, friday: datetime, monday: datetime
) -> None:
    world = World(tmp_path / "bars", now=friday, last=friday)
    expected = [monday + timedelta(hours=each) for each in range(2)]
    ask = world.open()
    for close in expected:
        world.now = close - timedelta(seconds=1)
        assert ask() is None  # an hour off it would be asked for, or taken, by now
        world.told.put("ABC", close)
        world.now = close
        bar = ask()
        assert bar is not None
        assert bar.closed_at == close


def test_a_bar_waits_for_late_symbols_so_long_and_no_longer(world: World) -> None:
    ask = world.open()
    world.told.put("AB", FRIDAY[0])
    world.now = FRIDAY[0] - timedelta(seconds=1)
    assert (ask(), world.told.n_asked) == (None, 0)
    world.now = FRIDAY[0] + timedelta(seconds=LATE_S - 1)
    assert ask() is None
    world.now = FRIDAY[0] + timedelta(seconds=LATE_S + 2)
    bar = ask()

    assert bar is not None
    assert bar.present.tolist() == [True, True, False]
    world.told.put("C", FRIDAY[0])  # too late: a decision was made without it
    again = world.open()()
    assert again is not None
    assert again.present.tolist() == [True, True, False]


def test_a_whole_bar_is_taken_at_once(world: World) -> None:
    world.told.put("ABC", FRIDAY[0])
    world.now = FRIDAY[0]
    bar = world.open()()
    assert bar is not None
    assert bar.present.all()


@pytest.mark.parametrize(
    "odd",
    [
        {"close": float("nan")},
        {"volume": float("nan")},
        {"vwap": float("nan")},
        {"high": float("inf")},
        {"high": 0.9},
        {"low": 0.0},
        {"low": -1.0},
        {"volume": -1.0},
    ],
    ids=str,
)
def test_a_row_that_no_market_makes_is_missing(world: World, odd: dict[str, float]) -> None:
    world.told.put("AB", FRIDAY[0])
    world.told.put("C", FRIDAY[0], **odd)
    world.now = FRIDAY[0] + timedelta(seconds=LATE_S)
    bar = world.open()()

    assert bar is not None
    assert bar.present.tolist() == [True, True, False]


def test_rows_ahead_of_time_do_not_stand_for_what_closes_later(world: World) -> None:
    ask = world.open()
    world.told.put("ABC", FRIDAY[0])
    world.told.put("ABC", FRIDAY[1], close=0.7)  # while it is being made
    world.now = FRIDAY[0]
    assert ask() is not None
    world.told.rows.clear()
    world.told.put("ABC", FRIDAY[1], close=1.8)
    world.now = FRIDAY[1]
    bar = ask()

    assert bar is not None
    assert bar.fields["close"].tolist() == [1.8] * 3


def test_a_source_that_is_away_is_asked_ever_more_rarely(world: World) -> None:
    world.told.is_away, ask = True, world.open()
    for second in range(600):
        world.now = FRIDAY[0] + timedelta(seconds=second)
        assert ask() is None
    assert 8 <= world.told.n_asked <= 16

    world.told.is_away = False
    world.told.put("A", FRIDAY[0])
    world.now += timedelta(seconds=60)
    bar = ask()
    assert bar is not None  # however late: it is settled, not traded on
    assert bar.present.tolist() == [True, False, False]


def test_a_close_without_any_bar_is_told(world: World) -> None:
    world.now = FRIDAY[0] + timedelta(seconds=LATE_S)
    bar = world.open()()

    assert bar is not None
    assert not bar.present.any()
    assert "was none of any symbol" in (world.live.problem or "")


def test_a_recorded_bar_that_is_gone_is_not_passed_over(tmp_path: Path) -> None:
    record = BarRecord(tmp_path / "bars")
    for number, close in enumerate(FRIDAY):
        record.write(number, SeenBars(close, {"A": PRICES}))
    assert [each.closed_at for each in record.read()] == FRIDAY
    (record.folder / "000001.json").unlink()

    with pytest.raises(StorageError, match="one before it is missing"):
        list(record.read())


def test_source_that_failed_is_asked_again_though_the_clock_was_set_back(world: World) -> None:
    world.told.is_away, ask = True, world.open()
    world.now = FRIDAY[0] + timedelta(minutes=30)
    assert ask() is None
    world.told.is_away = False
    world.told.put("ABC", FRIDAY[0])

    world.now -= timedelta(minutes=20)

    bar = ask()
    assert bar is not None
    assert bar.closed_at == FRIDAY[0]
