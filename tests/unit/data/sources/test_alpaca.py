"""What is particular to Alpaca."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import polars as pl
import pytest

from fixtures.alpaca_server import KEY_ID, SECRET_KEY, AlpacaServer, bar_at
from fixtures.download_rig import WEEK, YEARS, HandClock, make_source
from fixtures.faulty_server import Fault, as_json, local, refused
from tradingbot.data.schema import require_bars
from tradingbot.data.sources.download import DownloadRequest
from tradingbot.data.sources.vendors import AlpacaCredentials, AlpacaSettings
from tradingbot.domain.errors import ConfigError, SourceError
from tradingbot.domain.timeframe import BarGrid, Timeframe

MONDAY = date(2024, 12, 2)


def test_pages_are_followed_to_the_end(alpaca_server: AlpacaServer, tmp_path: Path) -> None:
    whole = make_source("alpaca", alpaca_server.url, tmp_path / "whole").fetch()
    alpaca_server.page_size = 50
    alpaca_server.asked.clear()
    paged = make_source("alpaca", alpaca_server.url, tmp_path / "paged").fetch()
    assert paged.bars.equals(whole.bars)
    tokens = [asked.params.get("page_token") for asked in alpaca_server.asked]
    assert tokens == [None, "50", "100", "150"]


def test_fault_on_a_later_page_repeats_that_page_only(
    alpaca_server: AlpacaServer, tmp_path: Path
) -> None:
    alpaca_server.page_size = 100
    alpaca_server.fail(
        alpaca_server_page(alpaca_server, 0), Fault(502, "<html>"), Fault(500, "oops")
    )
    raw = make_source("alpaca", alpaca_server.url, tmp_path).fetch()
    tokens = [asked.params.get("page_token") for asked in alpaca_server.asked]
    assert tokens == [None, "100", "100", "100"]
    assert raw.bars.height == 35


def alpaca_server_page(server: AlpacaServer, first: int) -> Fault:
    days = [date(2024, 12, day) for day in range(2, 7)]
    starts = [local(day, 4 + k // 2, 30 * (k % 2)) for day in days for k in range(32)]
    page = [bar_at("AAPL", at) for at in starts[first : first + server.page_size]]
    return as_json({"bars": {"AAPL": page}, "next_page_token": str(first + server.page_size)})


def test_hourly_bar_is_built_from_the_half_hours_inside_the_session(
    alpaca_server: AlpacaServer, tmp_path: Path
) -> None:
    raw = make_source("alpaca", alpaca_server.url, tmp_path).fetch()
    early, late = (bar_at("AAPL", local(MONDAY, *at)) for at in ((9, 30), (10, 0)))
    first = raw.bars.row(0, named=True)
    assert first["open"] == early["o"]
    assert first["close"] == late["c"]
    assert first["high"] == max(early["h"], late["h"])
    assert first["low"] == min(early["l"], late["l"])
    assert first["volume"] == early["v"] + late["v"]
    turnover = early["vw"] * early["v"] + late["vw"] * late["v"]
    assert first["vwap"] == pytest.approx(turnover / first["volume"], rel=1e-12)
    assert raw.provenance.vwap == "vendor"
    assert raw.provenance.detail["vendor_timeframe"] == "30m"


def test_clock_grid_begins_with_the_half_hour_after_the_opening(
    alpaca_server: AlpacaServer, tmp_path: Path
) -> None:
    request = DownloadRequest(("AAPL",), MONDAY, MONDAY, grid=BarGrid.CLOCK)
    bars = make_source("alpaca", alpaca_server.url, tmp_path, request).fetch().bars
    closes = bars["closed_at"].dt.strftime("%H:%M").to_list()
    assert closes == ["15:00", "16:00", "17:00", "18:00", "19:00", "20:00", "21:00"]
    assert bars["open"][0] == bar_at("AAPL", local(MONDAY, 9, 30))["o"]
    assert bars["volume"][0] == bar_at("AAPL", local(MONDAY, 9, 30))["v"]


@pytest.mark.parametrize(
    ("timeframe", "asked", "bars_a_day"), [("15m", "15Min", 26), ("1d", "1Day", 1)]
)
def test_other_bar_lengths_are_asked_for_as_they_are(
    alpaca_server: AlpacaServer, tmp_path: Path, timeframe: str, asked: str, bars_a_day: int
) -> None:
    request = DownloadRequest(("AAPL",), WEEK.start, WEEK.end, Timeframe.parse(timeframe))
    raw = make_source("alpaca", alpaca_server.url, tmp_path, request).fetch()
    assert require_bars(raw.bars, where="test").height == 5 * bars_a_day
    assert alpaca_server.asked[0].params["timeframe"] == asked
    assert raw.bars["closed_at"].dt.strftime("%H:%M").max() == "21:00"


def test_request_names_feed_and_adjustment_and_spells_share_classes_with_a_dot(
    alpaca_server: AlpacaServer, tmp_path: Path
) -> None:
    request = DownloadRequest(("BRK-B",), MONDAY, MONDAY, adjustment="none")
    raw = make_source("alpaca", alpaca_server.url, tmp_path, request, feed="iex").fetch()
    params = alpaca_server.asked[0].params
    assert params["symbols"] == "BRK.B"
    assert params["adjustment"] == "raw"
    assert params["feed"] == "iex"
    assert raw.bars["symbol"].unique().to_list() == ["BRK-B"]


def test_symbol_the_vendor_cannot_read_is_refused_in_its_words(
    alpaca_server: AlpacaServer, tmp_path: Path
) -> None:
    request = DownloadRequest(("^VIX",), MONDAY, MONDAY)
    with pytest.raises(SourceError, match=r"HTTP 400: invalid symbol: \^VIX"):
        make_source("alpaca", alpaca_server.url, tmp_path, request).fetch()
    assert len(alpaca_server.asked) == 1


def test_page_that_repeats_for_ever_is_refused(alpaca_server: AlpacaServer, tmp_path: Path) -> None:
    alpaca_server.always = as_json({"bars": {}, "next_page_token": "again"})
    with pytest.raises(SourceError, match="was the same page again"):
        make_source("alpaca", alpaca_server.url, tmp_path).fetch()
    assert len(alpaca_server.asked) == 2


@pytest.mark.parametrize(
    ("body", "was"),
    [
        ({"message": "hello"}, "JSON without bars"),
        ({"bars": [1], "next_page_token": None}, "bars that are no object"),
        ({"bars": {"MSFT": []}, "next_page_token": None}, "bars of MSFT"),
        ({"bars": {"AAPL": [{"t": "2024-12-02T14:30:00Z"}]}, "next_page_token": None}, "malformed"),
        ({"bars": {"AAPL": [{"t": 7}]}, "next_page_token": None}, "malformed"),
        ({"bars": {"AAPL": ["x"]}, "next_page_token": None}, "malformed"),
    ],
)
def test_answer_that_is_no_bars_is_refused_and_not_cached(
    alpaca_server: AlpacaServer, tmp_path: Path, body: object, was: str
) -> None:
    alpaca_server.always = as_json(body)
    with pytest.raises(SourceError, match=was):
        make_source("alpaca", alpaca_server.url, tmp_path).fetch()
    assert not list(tmp_path.rglob("*.parquet"))


def test_text_in_place_of_a_price_is_refused(alpaca_server: AlpacaServer, tmp_path: Path) -> None:
    bar = {**bar_at("AAPL", local(MONDAY, 9, 30)), "c": "101.5"}
    alpaca_server.always = as_json({"bars": {"AAPL": [bar]}, "next_page_token": None})
    with pytest.raises(SourceError, match=r"malformed bar \(TypeError\)"):
        make_source("alpaca", alpaca_server.url, tmp_path).fetch()


def test_repeated_bar_is_refused_rather_than_merged(
    alpaca_server: AlpacaServer, tmp_path: Path
) -> None:
    bar = bar_at("AAPL", local(MONDAY, 9, 30))
    alpaca_server.always = as_json({"bars": {"AAPL": [bar, bar]}, "next_page_token": None})
    with pytest.raises(SourceError, match="must not repeat a bar, was AAPL 2024-12-02T14:30Z"):
        make_source("alpaca", alpaca_server.url, tmp_path).fetch()


def test_null_bars_mean_none(alpaca_server: AlpacaServer, tmp_path: Path) -> None:
    alpaca_server.fail(as_json({"bars": None, "next_page_token": None}))
    bars = make_source("alpaca", alpaca_server.url, tmp_path, YEARS).fetch().bars
    first = bars.group_by("symbol").agg(pl.col("closed_at").min()).sort("symbol")
    assert first["closed_at"][0] > first["closed_at"][1], "AAPL's first piece was empty"


def test_subscription_refusal_is_passed_on(alpaca_server: AlpacaServer, tmp_path: Path) -> None:
    alpaca_server.always = refused(403, "subscription does not permit querying recent SIP data")
    with pytest.raises(SourceError, match="does not permit querying recent SIP data"):
        make_source("alpaca", alpaca_server.url, tmp_path).fetch()


def test_default_rate_is_below_the_vendors_limit(
    alpaca_server: AlpacaServer, tmp_path: Path
) -> None:
    hand = HandClock()
    limit = AlpacaSettings().requests_per_minute
    make_source(
        "alpaca", alpaca_server.url, tmp_path, YEARS, hand.clock(), requests_per_minute=limit
    ).fetch()
    assert hand.sleeps == pytest.approx([60 / 200] * (len(alpaca_server.asked) - 1))


def test_credentials_come_from_the_environment() -> None:
    found = AlpacaCredentials.from_environment(
        {"APCA_API_KEY_ID": KEY_ID, "APCA_API_SECRET_KEY": SECRET_KEY}
    )
    assert (found.key_id, found.secret_key) == (KEY_ID, SECRET_KEY)
    assert KEY_ID not in repr(found)
    assert SECRET_KEY not in repr(found)


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({}, "APCA_API_KEY_ID must be set"),
        ({"APCA_API_KEY_ID": ""}, "APCA_API_KEY_ID must be set"),
        ({"APCA_API_KEY_ID": KEY_ID, "APCA_API_SECRET_KEY": ""}, "APCA_API_SECRET_KEY must be set"),
    ],
)
def test_empty_or_unset_credentials_name_the_variable(
    environment: dict[str, str], named: str
) -> None:
    with pytest.raises(ConfigError, match=named):
        AlpacaCredentials.from_environment(environment)


@pytest.mark.parametrize("secret", ["abc\ndef", "abc def", "schlüssel", "tab\t"])
def test_credentials_no_header_can_carry_are_refused_without_showing_them(secret: str) -> None:
    with pytest.raises(ConfigError, match="printable ASCII") as caught:
        AlpacaCredentials(KEY_ID, secret)
    assert secret not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"feed": "otc"}, {"timeout_s": 0.0}, {"timeout_s": float("inf")}),
        *({"base_url": "x"}, {"base_url": None}),
    ],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        AlpacaSettings(**wrong)  # type: ignore[arg-type]
