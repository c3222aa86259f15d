"""What is particular to Yahoo."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tradingbot as tb
from fixtures.download_rig import WEEK, make_source
from fixtures.faulty_server import HANG, Fault, as_json, local, trading_days
from fixtures.yahoo_server import YahooServer, chart, chart_error, starts_on
from tradingbot.data.schema import require_bars
from tradingbot.data.sources.download import DownloadRequest
from tradingbot.domain.errors import ConfigError, SourceError
from tradingbot.domain.timeframe import BarGrid, Timeframe

MONDAY = date(2024, 12, 2)
DAILY = DownloadRequest(("AAPL",), WEEK.start, WEEK.end, Timeframe.parse("1d"))


def monday_chart() -> dict[str, Any]:
    return chart("AAPL", starts_on(MONDAY, "60m"), "60m")


def test_request_is_hourly_with_cookie_and_crumb(yahoo_server: YahooServer, tmp_path: Path) -> None:
    request = DownloadRequest(("AAPL", "MSFT"), WEEK.start, WEEK.end)
    raw = make_source("yfinance", yahoo_server.url, tmp_path, request).fetch()
    assert [asked.path for asked in yahoo_server.all_asked] == [
        "/",
        "/v1/test/getcrumb",
        "/v8/finance/chart/AAPL",
        "/v8/finance/chart/MSFT",
    ]
    asked = yahoo_server.asked[1]
    assert asked.params["interval"] == "60m"
    assert asked.params["crumb"] == "aCrumb123"
    assert "A3=cookie" in asked.headers["Cookie"]
    assert raw.provenance.vwap == "typical_price"
    first = raw.bars.row(0, named=True)
    assert first["vwap"] == pytest.approx((first["high"] + first["low"] + first["close"]) / 3)


def test_transport_shared_by_the_process_is_left_alone(
    yahoo_server: YahooServer, tmp_path: Path
) -> None:
    from yfinance.data import YfData

    shared = YfData()
    before = (shared._session, shared._cookie, shared._crumb)
    make_source("yfinance", yahoo_server.url, tmp_path).fetch()
    assert (YfData()._session, YfData()._cookie, YfData()._crumb) == before


def test_failing_cookie_and_crumb_do_not_stop_the_download(
    yahoo_server: YahooServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yahoo_server, "side_answer", lambda _: Fault(429, "Too Many Requests"))
    raw = make_source("yfinance", yahoo_server.url, tmp_path).fetch()
    assert raw.bars.height == 35
    assert len(yahoo_server.asked) == 1


def test_hanging_cookie_is_given_up_after_our_timeout(
    yahoo_server: YahooServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    yahoo_server.hang_s = 1.0  # then the connection breaks, which the library reports as such
    monkeypatch.setattr(yahoo_server, "side_answer", lambda _: HANG)
    raw = make_source("yfinance", yahoo_server.url, tmp_path, timeout_s=0.2).fetch()
    assert raw.bars.height == 35
    assert "Cookie fetch from fc.yahoo.com failed (Timeout)" in caplog.text


def test_row_without_any_price_is_left_out_and_counted(
    yahoo_server: YahooServer, tmp_path: Path
) -> None:
    body = monday_chart()
    for values in body["chart"]["result"][0]["indicators"]["quote"][0].values():
        values[2] = None
    yahoo_server.always = as_json(body)
    raw = make_source("yfinance", yahoo_server.url, tmp_path).fetch()
    assert raw.provenance.detail["empty_rows"] == 1
    assert raw.bars.height == 6


@pytest.mark.parametrize("column", ["close", "volume"])
def test_single_missing_number_stays_missing(
    yahoo_server: YahooServer, tmp_path: Path, column: str
) -> None:
    body = monday_chart()
    body["chart"]["result"][0]["indicators"]["quote"][0][column][2] = None
    yahoo_server.always = as_json(body)
    bars = make_source("yfinance", yahoo_server.url, tmp_path).fetch().bars
    assert bars[column].is_nan().to_list() == [False, False, True, False, False, False, False]


def test_row_off_the_grid_is_left_out_and_counted(
    yahoo_server: YahooServer, tmp_path: Path
) -> None:
    starts = [*starts_on(MONDAY, "60m")[:-1], local(MONDAY, 15, 47)]
    yahoo_server.always = as_json(chart("AAPL", starts, "60m"))
    raw = make_source("yfinance", yahoo_server.url, tmp_path).fetch()
    assert raw.provenance.detail["off_grid_rows"] == 1
    assert raw.bars.height == 7


def test_latest_price_appended_after_the_range_is_not_taken(
    yahoo_server: YahooServer, tmp_path: Path
) -> None:
    request = DownloadRequest(("AAPL",), MONDAY, MONDAY)
    starts = [*starts_on(MONDAY, "60m"), local(date(2024, 12, 3), 9, 30)]
    yahoo_server.always = as_json(chart("AAPL", starts, "60m"))
    bars = make_source("yfinance", yahoo_server.url, tmp_path, request).fetch().bars
    assert bars["closed_at"].dt.date().unique().to_list() == [MONDAY]


def test_daily_bars_close_with_their_session_and_can_include_dividends(
    yahoo_server: YahooServer, tmp_path: Path
) -> None:
    plain = make_source("yfinance", yahoo_server.url, tmp_path, DAILY).fetch()
    assert require_bars(plain.bars, where="test").height == 5
    assert plain.bars["closed_at"].dt.strftime("%H:%M").unique().to_list() == ["21:00"]
    request = DownloadRequest(
        DAILY.symbols, DAILY.start, DAILY.end, DAILY.timeframe, adjustment="split_dividend"
    )
    adjusted = make_source("yfinance", yahoo_server.url, tmp_path, request).fetch()
    # The server's adjusted close is half of its close.
    for column in ("open", "high", "low", "close"):
        assert adjusted.bars[column].to_list() == pytest.approx((plain.bars[column] / 2).to_list())
    assert adjusted.bars["volume"].equals(plain.bars["volume"])
    assert adjusted.provenance.adjustment == "split_dividend"


def test_D15_a_dividend_is_earned_once_over_its_ex_date(
    yahoo_server: YahooServer, tmp_path: Path
) -> None:
    """A share at 100 pays 4: with dividends in the prices its worth goes on, without it falls."""
    starts = [
        at for day in trading_days(date(2024, 11, 4), WEEK.end) for at in starts_on(day, "1d")
    ]
    body, ex_date = chart("AAPL", starts, "1d"), len(starts) // 2
    prices = [100.0 if k < ex_date else 96.0 for k in range(len(starts))]
    told = body["chart"]["result"][0]["indicators"]
    told["quote"][0] |= dict.fromkeys(("open", "high", "low", "close"), prices)
    told["adjclose"] = [{"adjclose": [96.0] * len(starts)}]
    yahoo_server.always = as_json(body)
    worth = {}
    for adjustment in ("split", "split_dividend"):
        asked = (DAILY.symbols, date(2024, 11, 4), DAILY.end, DAILY.timeframe)
        request = DownloadRequest(*asked, adjustment=adjustment)
        bars = make_source("yfinance", yahoo_server.url, tmp_path, request).fetch().bars
        named = {"timestamp": "closed_at"}
        loaded = tb.load_bars(
            bars, timeframe="1d", stamps="close", columns=named, adjustment=adjustment
        )
        worth[adjustment] = tb.backtest("buy_and_hold", loaded, costs="free").played.equity[:, 0]
    jump = np.diff(worth["split_dividend"]) / worth["split_dividend"][:-1]

    assert len(worth["split"]) > 20
    assert np.abs(jump).max() < 1e-12  # continuous over the ex-date
    held = worth["split_dividend"][-1]
    credited = worth["split"][-1] + 0.04 * held  # the four that were paid on each share at 100
    assert held == pytest.approx(credited)


def test_range_beyond_yahoos_memory_is_refused_in_its_words(
    yahoo_server: YahooServer, tmp_path: Path
) -> None:
    yahoo_server.always = chart_error(
        422, "Unprocessable Entity", "60m data not available: must be within the last 730 days."
    )
    with pytest.raises(SourceError, match="must be within the last 730 days"):
        make_source("yfinance", yahoo_server.url, tmp_path).fetch()
    assert len(yahoo_server.asked) == 1


def with_meta(**changes: str) -> dict[str, Any]:
    body = monday_chart()
    body["chart"]["result"][0]["meta"].update(changes)
    return body


@pytest.mark.parametrize(
    ("body", "was"),
    [
        (with_meta(symbol="APLE"), "bars of APLE"),
        (with_meta(dataGranularity="1d"), "bars of 1d"),
        ({"chart": {"result": None, "error": None}}, "malformed chart"),
        ({"chart": {"result": [], "error": None}}, "malformed chart"),
        ({"quoteResponse": {}}, "malformed chart"),
        ({"chart": {"result": None, "error": {"description": "Internal oops"}}}, "Internal oops"),
    ],
)
def test_answer_that_is_not_what_was_asked_for_is_refused_and_not_cached(
    yahoo_server: YahooServer, tmp_path: Path, body: object, was: str
) -> None:
    yahoo_server.always = as_json(body)
    with pytest.raises(SourceError, match=was):
        make_source("yfinance", yahoo_server.url, tmp_path).fetch()
    assert not list(tmp_path.rglob("*.parquet"))


def test_columns_of_different_length_are_refused(yahoo_server: YahooServer, tmp_path: Path) -> None:
    body = monday_chart()
    body["chart"]["result"][0]["indicators"]["quote"][0]["close"].pop()
    yahoo_server.always = as_json(body)
    with pytest.raises(SourceError, match="malformed chart"):
        make_source("yfinance", yahoo_server.url, tmp_path).fetch()


@pytest.mark.parametrize(
    "request_",
    [
        DownloadRequest(("AAPL",), MONDAY, MONDAY, Timeframe.parse("30m")),
        DownloadRequest(("AAPL",), MONDAY, MONDAY, adjustment="none"),
        DownloadRequest(("AAPL",), MONDAY, MONDAY, adjustment="split_dividend"),
        DownloadRequest(("AAPL",), MONDAY, MONDAY, grid=BarGrid.CLOCK),
    ],
)
def test_bars_yahoo_does_not_have_are_refused_before_asking(
    request_: DownloadRequest, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="Yahoo"):
        make_source("yfinance", "http://127.0.0.1:9", tmp_path, request_)
