"""Both network sources, through their real client libraries, against servers that misbehave."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from fixtures.alpaca_server import KEY_ID, SECRET_KEY
from fixtures.download_rig import WEEK, YEARS, HandClock, make_source
from fixtures.faulty_server import (
    CUT_JSON,
    HANG,
    HTML_200,
    HTML_502,
    TRUNCATED,
    Fault,
    FaultyServer,
    refused,
    too_many,
)
from tradingbot.data.schema import require_bars
from tradingbot.data.sources.download import DownloadRequest
from tradingbot.data.sources.pacing import RetryPolicy
from tradingbot.domain.errors import ConfigError, MissingExtraError, SourceError

SCRIPT = Path(__file__).resolve().parents[3] / "fixtures" / "download_process.py"


def test_week_of_hourly_bars_has_seven_bars_a_day_stamped_at_their_close(
    vendor: str, server: FaultyServer, tmp_path: Path
) -> None:
    raw = make_source(vendor, server.url, tmp_path).fetch()
    bars = require_bars(raw.bars, where="test")
    assert bars.height == 5 * 7
    monday = bars["closed_at"].dt.strftime("%H:%M").to_list()[:7]
    assert monday == ["15:30", "16:30", "17:30", "18:30", "19:30", "20:30", "21:00"]
    assert raw.provenance.provider == vendor


def test_half_day_and_holiday_keep_only_session_bars_and_count_the_others(
    vendor: str, server: FaultyServer, tmp_path: Path
) -> None:
    request = DownloadRequest(("SPY",), date(2024, 11, 27), date(2024, 11, 29))
    raw = make_source(vendor, server.url, tmp_path, request).fetch()
    friday = raw.bars.filter(pl.col("closed_at").dt.date() == date(2024, 11, 29))
    assert friday["closed_at"].dt.strftime("%H:%M").to_list() == [
        "15:30",
        "16:30",
        "17:30",
        "18:00",
    ]
    # 32 half hours a day from 04:00 to 20:00, less 13 and 7 in session, and 2 past midnight UTC.
    expected = 2 * 32 - 13 - 7 - 2 if vendor == "alpaca" else 2
    assert raw.provenance.detail["outside_session_rows"] == expected


@pytest.mark.parametrize(
    "fault",
    [HTML_502, HTML_200, CUT_JSON, TRUNCATED, Fault(503, "{}"), Fault(504), Fault(body="[]")],
)
def test_fault_that_passes_is_retried_and_leaves_no_trace(
    vendor: str, server: FaultyServer, tmp_path: Path, fault: Fault
) -> None:
    clean = make_source(vendor, server.url, tmp_path / "clean").fetch()
    server.fail(fault)
    hand = HandClock()
    source = make_source(vendor, server.url, tmp_path / "faulty", clock=hand.clock())
    assert source.fetch().bars.equals(clean.bars)
    assert len(server.asked) == 3
    assert sum(wait >= 0.5 for wait in hand.sleeps) == 1


@pytest.mark.parametrize("asked", ["7", "Mon, 02 Jun 2025 15:00:07 GMT"])
def test_too_many_requests_waits_as_long_as_asked(
    vendor: str, server: FaultyServer, tmp_path: Path, asked: str
) -> None:
    server.fail(too_many(asked))
    hand = HandClock()
    make_source(vendor, server.url, tmp_path, clock=hand.clock()).fetch()
    assert max(hand.sleeps) == pytest.approx(7, abs=0.1)
    assert len(server.asked) == 2


def test_too_long_a_wait_is_refused_at_once(
    vendor: str, server: FaultyServer, tmp_path: Path
) -> None:
    server.fail(too_many("86400"))
    hand = HandClock()
    with pytest.raises(SourceError, match="asks to wait 86400 s"):
        make_source(vendor, server.url, tmp_path, clock=hand.clock()).fetch()
    assert max(hand.sleeps, default=0.0) < 1


@pytest.mark.parametrize("fault", [HTML_502, HTML_200, TRUNCATED, too_many("1")])
def test_fault_for_ever_ends_in_one_line_and_caches_nothing(
    vendor: str, server: FaultyServer, tmp_path: Path, fault: Fault
) -> None:
    server.always = fault
    with pytest.raises(SourceError, match="must answer within 3 attempts") as caught:
        make_source(vendor, server.url, tmp_path).fetch()
    assert len(server.asked) == 3
    assert "\n" not in str(caught.value)
    assert "AAPL 2024-12-02" in str(caught.value)
    assert "<html" not in str(caught.value)
    assert not list(tmp_path.rglob("*.parquet"))


def test_server_that_hangs_is_given_up_after_the_timeout(
    vendor: str, server: FaultyServer, tmp_path: Path
) -> None:
    server.always = HANG
    source = make_source(vendor, server.url, tmp_path, timeout_s=0.2, retry=RetryPolicy(attempts=2))
    with pytest.raises(SourceError, match=r"was no answer in 0\.2 s"):
        source.fetch()
    assert len(server.asked) == 2


def test_server_that_is_down_ends_in_one_line(vendor: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"was a connection that broke \(.*\)\. Check"):
        make_source(vendor, "http://127.0.0.1:9", tmp_path).fetch()


@pytest.mark.parametrize("status", [401, 403])
def test_refusal_is_reported_at_once(
    vendor: str, server: FaultyServer, tmp_path: Path, status: int
) -> None:
    server.always = refused(status, f"forbidden for {KEY_ID} {SECRET_KEY}")
    hand = HandClock()
    with pytest.raises(SourceError, match=f"must let us in, was HTTP {status}") as caught:
        make_source(vendor, server.url, tmp_path, clock=hand.clock()).fetch()
    # yfinance renews its cookie and asks once more; nothing else repeats the request.
    assert len(server.asked) == (1 if vendor == "alpaca" else 2)
    assert max(hand.sleeps, default=0.0) < 0.1
    if vendor == "alpaca":
        assert "Set APCA_API_KEY_ID and APCA_API_SECRET_KEY" in str(caught.value)


def test_symbol_without_bars_is_left_out_and_named(
    vendor: str, server: FaultyServer, tmp_path: Path
) -> None:
    request = DownloadRequest(("AAAA", "MSFT"), WEEK.start, WEEK.end)
    fetched = make_source(vendor, server.url, tmp_path, request).fetch()
    assert fetched.bars["symbol"].unique().to_list() == ["MSFT"]
    assert fetched.provenance.detail["symbols_without_bars"] == "AAAA"


def test_range_without_bars_is_refused(vendor: str, server: FaultyServer, tmp_path: Path) -> None:
    weekend = DownloadRequest(("AAPL",), date(2024, 12, 7), date(2024, 12, 8))
    with pytest.raises(
        SourceError, match="a symbol must have a bar in the range, was none of AAPL"
    ):
        make_source(vendor, server.url, tmp_path, weekend).fetch()


def test_range_into_the_future_is_refused_before_asking(
    vendor: str, server: FaultyServer, tmp_path: Path
) -> None:
    request = DownloadRequest(("AAPL",), date(2025, 6, 1), date(2025, 6, 3))
    with pytest.raises(ConfigError, match="end must not lie in the future"):
        make_source(vendor, server.url, tmp_path, request).fetch()
    assert not server.all_asked


def test_today_has_complete_bars_only_and_is_asked_for_again(
    vendor: str, server: FaultyServer, tmp_path: Path
) -> None:
    today = DownloadRequest(("AAPL",), date(2025, 6, 2), date(2025, 6, 2))
    hand = HandClock(datetime(2025, 6, 2, 16, 40, tzinfo=UTC))
    source = make_source(vendor, server.url, tmp_path, today, hand.clock())
    first = source.fetch()
    # 16:40 - 16 min settling = 16:24: the bars that closed at 14:30 and 15:30 are complete.
    assert first.bars["closed_at"].dt.strftime("%H:%M").to_list() == ["14:30", "15:30"]
    assert int(first.provenance.detail["unfinished_rows"]) > 0
    until = server.asked[0].params["end" if vendor == "alpaca" else "period2"]
    settled = datetime(2025, 6, 2, 16, 24, tzinfo=UTC)
    assert until == (settled.isoformat() if vendor == "alpaca" else str(int(settled.timestamp())))
    assert source.fetch().bars.equals(first.bars)
    assert len(server.asked) == 1, "a fresh piece is used again"
    hand.passed_s += 3600
    assert source.fetch().bars.height == 3
    hand.passed_s += timedelta(days=2).total_seconds()
    assert source.fetch().bars.height == 7
    hand.passed_s += timedelta(days=30).total_seconds()
    assert source.fetch().bars.height == 7
    assert len(server.asked) == 3, "a final piece is never asked for again"


def test_range_of_years_is_cut_into_pieces_with_progress_to_the_total(
    vendor: str, server: FaultyServer, tmp_path: Path
) -> None:
    seen: list[tuple[int, int, str]] = []
    raw = make_source(vendor, server.url, tmp_path, YEARS).fetch(
        lambda finished, total, label: seen.append((finished, total, label))
    )
    assert len(server.asked) == len(list(tmp_path.rglob("*.parquet"))) >= 4
    assert [finished for finished, _, _ in seen] == list(range(len(server.asked) + 1))
    assert {total for _, total, _ in seen} == {len(server.asked)}
    require_bars(raw.bars, where="test")
    assert raw.bars["symbol"].unique().sort().to_list() == ["AAPL", "MSFT"]
    sessions = raw.bars.filter(pl.col("symbol") == "AAPL")["closed_at"].dt.date().n_unique()
    assert sessions == 299  # of the New York Stock Exchange, 2023-10-02 … 2024-12-06


def test_longer_range_uses_the_whole_pieces_of_a_shorter_one(
    vendor: str, server: FaultyServer, tmp_path: Path
) -> None:
    make_source(vendor, server.url, tmp_path, YEARS).fetch()
    before = len(server.asked)
    longer = DownloadRequest(YEARS.symbols, YEARS.start, date(2024, 12, 13))
    make_source(vendor, server.url, tmp_path, longer).fetch()
    assert len(server.asked) - before == 2, "only the last piece of each symbol"


def test_damaged_piece_is_fetched_again(vendor: str, server: FaultyServer, tmp_path: Path) -> None:
    source = make_source(vendor, server.url, tmp_path)
    clean = source.fetch()
    (chunk,) = tmp_path.rglob("*.parquet")
    chunk.write_bytes(chunk.read_bytes()[:100])
    assert source.fetch().bars.equals(clean.bars)
    assert len(server.asked) == 2


def test_requests_stay_inside_the_rate_limit(
    vendor: str, server: FaultyServer, tmp_path: Path
) -> None:
    hand = HandClock()
    make_source(vendor, server.url, tmp_path, YEARS, hand.clock(), requests_per_minute=20.0).fetch()
    assert hand.sleeps == pytest.approx([3.0] * (len(server.all_asked) - 1))


def test_killed_download_resumes_without_asking_twice(
    vendor: str, server: FaultyServer, tmp_path: Path
) -> None:
    whole = make_source(vendor, server.url, tmp_path / "whole", YEARS).fetch()
    needed = len(server.asked)
    server.asked.clear()
    server.hang_at = 3
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), vendor, server.url, str(tmp_path / "killed")],
        env=environment,
    )
    try:
        assert server.is_hanging.wait(120), "the download never reached its third request"
    finally:
        process.kill()
        assert process.wait(10) == -signal.SIGKILL
    assert not (tmp_path / "home").exists(), "nothing is cached in the user's home"
    server.hang_at = None
    resumed = make_source(vendor, server.url, tmp_path / "killed", YEARS).fetch()
    assert len(server.asked) == needed + 1, "only the request that was cut off is repeated"
    assert resumed.bars.equals(whole.bars)
    assert resumed.provenance == whole.provenance


def test_secrets_appear_nowhere(
    vendor: str, server: FaultyServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    source = make_source(vendor, server.url, tmp_path)
    raw = source.fetch()
    server.always = refused(403, f"no entry for {KEY_ID} with {SECRET_KEY}")
    with pytest.raises(SourceError) as caught:
        make_source(vendor, server.url, tmp_path / "other").fetch()
    shown = [repr(source), repr(vars(source)), str(caught.value), repr(caught.value), caplog.text]
    shown.append(raw.provenance.model_dump_json())
    stored = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    for secret in (KEY_ID, SECRET_KEY):
        if vendor == "alpaca":
            assert not any(secret in text for text in shown)
        assert stored
        assert not any(secret.encode() in content for content in stored)


def test_missing_package_names_the_extra(
    vendor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = f"tradingbot.data.sources.{'alpaca' if vendor == 'alpaca' else 'yahoo'}_wire"
    monkeypatch.delitem(sys.modules, wire, raising=False)
    for name in [name for name in sys.modules if name.split(".")[0] == vendor]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, vendor, None)
    with pytest.raises(MissingExtraError, match=rf"make install EXTRA={vendor}"):
        make_source(vendor, "http://127.0.0.1:9", tmp_path).fetch()


def test_plain_http_to_another_machine_is_refused(vendor: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must begin with https://"):
        make_source(vendor, "http://example.com", tmp_path)
