"""Screening keeps every row it does not name, in order, untouched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.dirty_market import clean_market
from tradingbot.data.quality.validation import QUARANTINE_COLUMNS, screen
from tradingbot.data.schema import BAR_COLUMNS, PRICE_COLUMNS, require_bars
from tradingbot.domain.errors import DataError

START = datetime(2024, 3, 4, 15, 30, tzinfo=UTC)


def make_bars(closes: list[float | None], *, symbol: str = "AAA") -> pl.DataFrame:
    times = [START + timedelta(hours=i) for i in range(len(closes))]
    prices = dict.fromkeys((*PRICE_COLUMNS, "vwap"), closes)
    columns = {
        "symbol": [symbol] * len(closes),
        "closed_at": times,
        "known_at": times,
        **prices,
        "volume": [10.0] * len(closes),
    }
    return pl.DataFrame(columns, schema_overrides=BAR_COLUMNS).select(*BAR_COLUMNS)


def test_screen_of_no_rows_gives_empty_frames_of_the_right_schema() -> None:
    screening = screen(pl.DataFrame(schema=BAR_COLUMNS))

    assert dict(screening.clean.schema) == BAR_COLUMNS
    assert dict(screening.quarantine.schema) == QUARANTINE_COLUMNS
    assert screening.findings == ()


def test_interleaved_symbols_are_grouped_without_complaint() -> None:
    by_time = clean_market().bars.sort("closed_at", "symbol")

    assert screen(by_time).clean.equals(clean_market().bars)


def test_exact_duplicate_is_dropped_once_with_a_warning() -> None:
    bars = clean_market().bars

    screening = screen(pl.concat([bars[:5], bars[4:5], bars[4:5], bars[5:]]))

    assert screening.clean.equals(bars)
    assert [(f.code, f.count) for f in screening.findings] == [("DUPLICATE_ROW", 2)]


def test_duplicate_of_nan_rows_is_exact_not_conflicting() -> None:
    bars = make_bars([100.0, float("nan"), 101.0])

    screening = screen(pl.concat([bars[:2], bars[1:]]))

    assert screening.clean.height == 2
    assert {f.code for f in screening.findings} == {"DUPLICATE_ROW", "NAN_PRICE"}


def test_spike_that_does_not_come_back_is_kept() -> None:
    assert screen(make_bars([100.0, 101.0] * 10 + [50.0, 50.5] * 10)).quarantine.is_empty()


def test_first_bar_is_not_compared_with_another_symbol() -> None:
    falling = make_bars([300.0, *[100.0, 101.0] * 10], symbol="BBB")
    bars = pl.concat([make_bars([100.0, 101.0] * 10), falling])

    assert screen(bars).quarantine.is_empty()


def test_rounding_in_the_last_bit_is_no_ohlc_violation() -> None:
    bars = make_bars([100.0, 101.0, 100.5]).with_columns(high=pl.col("close") * (1 - 1e-15))

    assert screen(bars).quarantine.is_empty()


def test_bar_stamped_after_as_of_is_quarantined() -> None:
    bars = make_bars([100.0, 101.0, 100.5])

    screening = screen(bars, as_of=START + timedelta(hours=1))

    assert screening.quarantine["closed_at"].to_list() == [START + timedelta(hours=2)]


def test_negative_price_error_names_symbol_and_time() -> None:
    with pytest.raises(DataError, match=r"AAA at 2024-03-04T16:30:00\+00:00"):
        screen(make_bars([100.0, -1.0, 100.0]))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(st.none(), st.floats(0, 1e9), st.just(float("nan")), st.just(float("inf"))),
        max_size=30,
    )
)
def test_clean_and_quarantine_together_are_the_rows_given(closes: list[float | None]) -> None:
    bars = make_bars(closes)

    screening = screen(bars)

    both = pl.concat([screening.clean, screening.quarantine.select(*BAR_COLUMNS)])
    assert both.sort("closed_at").equals(bars)
    require_bars(screening.clean, where="clean rows")
    assert screening.clean.select(pl.col(*PRICE_COLUMNS).is_finite().all()).row(0) in {(True,) * 4}
