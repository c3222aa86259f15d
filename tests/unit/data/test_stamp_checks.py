"""Stamps that would show bars early: hours off, openings called closes, days that never end."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import polars as pl
import pytest

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.normalise import StampRules, to_bars
from tradingbot.data.stamp_checks import count_session_edges
from tradingbot.domain.errors import DataError
from tradingbot.domain.timeframe import BarGrid, Timeframe

COLUMNS = {name: name for name in ("timestamp", "symbol", "open", "high", "low", "close", "volume")}
HOUR = timedelta(hours=1)
NEW_YORK = "America/New_York"


def grid(
    name: str = "XNYS",
    first: date = date(2024, 1, 2),
    last: date = date(2024, 12, 31),
    length: str = "1h",
    kind: BarGrid = BarGrid.SESSION,
) -> pl.DataFrame:
    return TradingCalendar.load(name, first, last).bar_closes(Timeframe.parse(length), kind)


def table(stamps: pl.Series, symbol: str = "AAPL") -> pl.DataFrame:
    frame = pl.DataFrame({"timestamp": stamps}).with_columns(symbol=pl.lit(symbol))
    return frame.with_columns(
        pl.lit(10.0).alias(name) for name in ("open", "high", "low", "close", "volume")
    )


def local(stamps: pl.Series, zone: str) -> pl.Series:
    return stamps.dt.convert_time_zone(zone).dt.replace_time_zone(None)


OPENS = grid()["opened_at"]
IS_WINTER = OPENS.dt.convert_time_zone(NEW_YORK).dt.dst_offset() == timedelta(0)

EARLY = {
    "chicago_as_new_york": (local(OPENS, "America/Chicago"), NEW_YORK),
    "fixed_est_as_new_york": (local(OPENS, "Etc/GMT+5"), NEW_YORK),
    "utc_by_fixed_four_hours": ((OPENS - HOUR).zip_with(IS_WINTER, OPENS), None),
}


@pytest.mark.parametrize("kind", EARLY)
def test_open_stamps_an_hour_early_are_refused_with_the_likely_cause(kind: str) -> None:
    stamps, zone = EARLY[kind]

    with pytest.raises(DataError, match=r"when its session opens, was AAPL.*--time-zone"):
        to_bars(table(stamps), COLUMNS, StampRules(time_zone=zone), where="f")


@pytest.mark.parametrize("length", ["15m", "30m", "1h"])
@pytest.mark.parametrize("kind", BarGrid)
def test_open_stamps_an_hour_early_are_refused_at_every_length(length: str, kind: BarGrid) -> None:
    opens = grid(last=date(2024, 2, 29), length=length, kind=kind)["opened_at"]
    rules = StampRules(timeframe=Timeframe.parse(length), grid=kind)

    assert to_bars(table(opens), COLUMNS, rules, where="f").height == len(opens)
    with pytest.raises(DataError, match="when its session opens"):
        to_bars(table(opens - HOUR), COLUMNS, rules, where="f")


def test_one_early_symbol_of_many_is_named() -> None:
    names = ["AAPL", "IBM", "JPM", "MSFT", "XOM"]
    parts = [table(OPENS - HOUR if name == "JPM" else OPENS, name) for name in names]

    with pytest.raises(DataError, match=r"was JPM in 252 of 252 sessions"):
        to_bars(pl.concat(parts), COLUMNS, StampRules(), where="f")


def test_few_sessions_with_a_stray_bar_before_the_opening_pass() -> None:
    spring = grid(last=date(2024, 3, 28))
    first_of_day = spring.group_by("session", maintain_order=True).first()["opened_at"]
    assert len(first_of_day) == 61  # so that five are more than the fraction allowed

    def read(strays: int) -> pl.DataFrame:
        stamps = pl.concat([spring["opened_at"], first_of_day[:strays] - HOUR])
        return to_bars(table(stamps), COLUMNS, StampRules(), where="f")

    assert read(5).height == spring.height + 5
    with pytest.raises(DataError, match="in 6 of 61 sessions"):
        read(6)


def sessions() -> pl.DataFrame:
    return TradingCalendar.load("XNYS", date(2024, 1, 2), date(2024, 12, 31)).sessions()


def test_openings_called_closes_without_the_first_bar_are_refused() -> None:
    later = OPENS.filter(~OPENS.is_in(sessions()["opens_at"].implode()))

    with pytest.raises(
        DataError, match=r"closes at their end, was AAPL in 0 of 252.*--stamps open"
    ):
        to_bars(table(later), COLUMNS, StampRules(stamps="close"), where="f")


def test_closes_without_every_tenth_last_bar_pass() -> None:
    closes = grid()["closed_at"]
    some = sessions()["closes_at"].gather_every(10)
    kept = closes.filter(~closes.is_in(some.implode()))

    assert to_bars(table(kept), COLUMNS, StampRules(stamps="close"), where="f").height == len(kept)


ROUND = grid("24/7", last=date(2024, 1, 31))


def test_whole_days_of_openings_called_closes_around_the_clock_are_refused() -> None:
    rules = StampRules(stamps="close", calendar="24/7")

    with pytest.raises(DataError, match=r"was AAPL from 2024-01-02 00:00Z.*--stamps open.*cut the"):
        to_bars(table(ROUND["opened_at"]), COLUMNS, rules, where="f")
    assert to_bars(table(ROUND["closed_at"]), COLUMNS, rules, where="f").height == ROUND.height
    assert to_bars(table(ROUND["opened_at"][:-1]), COLUMNS, rules, where="f").height


@pytest.mark.parametrize(("length", "stamps"), [("30m", "open"), ("30m", "close"), ("1h", "open")])
@pytest.mark.parametrize("last", [date(2024, 1, 5), date(2024, 1, 31)])
def test_crypto_bars_on_an_exchange_are_told_the_calendar_and_not_the_stamps(
    length: str, stamps: str, last: date
) -> None:
    bars = grid("24/7", last=last, length=length)
    rules = StampRules(stamps=stamps, timeframe=Timeframe.parse(length))
    column = "opened_at" if stamps == "open" else "closed_at"

    with pytest.raises(DataError, match=r"--calendar 24/7") as refusal:
        to_bars(table(bars[column]), COLUMNS, rules, where="f")

    assert "--stamps close" not in str(refusal.value)


def test_count_session_edges_counts_per_symbol_and_leaves_touching_sessions_out() -> None:
    closes = grid(last=date(2024, 1, 5))["closed_at"]
    opening = sessions()["opens_at"][:1]

    counts = count_session_edges(
        pl.concat([closes, opening]),
        pl.Series(["A"] * len(closes) + ["B"]),
        sessions(),
    )

    assert counts.select("symbol", "sessions", "openings", "full_sessions", "closings").rows() == [
        ("A", 4, 0, 4, 4),
        ("B", 1, 1, 0, 0),
    ]
    always = TradingCalendar.load("24/7", date(2024, 1, 1), date(2024, 2, 1)).sessions()
    assert count_session_edges(
        ROUND["opened_at"], pl.repeat("A", ROUND.height, eager=True), always
    ).is_empty()


@pytest.mark.parametrize("length", ["15m", "30m", "1h"])
@pytest.mark.parametrize("kind", BarGrid)
@pytest.mark.parametrize("last", [date(2024, 1, 4), date(2024, 3, 28)])
def test_closes_taken_for_openings_are_refused_with_the_option_that_mends_it(
    length: str, kind: BarGrid, last: date
) -> None:
    closes = grid(last=last, length=length, kind=kind)["closed_at"]
    rules = StampRules(timeframe=Timeframe.parse(length), grid=kind)

    with pytest.raises(DataError, match=r"not open when .* AAPL in .* say --stamps close") as told:
        to_bars(table(closes), COLUMNS, rules, where="f")
    assert "check --time-zone" in str(told.value)
    assert to_bars(table(closes), COLUMNS, replace(rules, stamps="close"), where="f").height


def test_openings_after_hours_pass_beside_those_of_the_session() -> None:
    late = [each + 7 * HOUR for each in OPENS if each.hour in (13, 14) and each.minute == 30]
    both = pl.concat([OPENS, pl.Series(late).cast(OPENS.dtype)]).unique().sort()

    assert to_bars(table(both), COLUMNS, StampRules(), where="f").height == len(both)
