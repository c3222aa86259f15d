"""Only a paper account is traded, on a clock that agrees, and no output shows a key."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fakes.alpaca import FakeAlpaca, VenueOptions
from fixtures.alpaca_broker import (
    CREDENTIALS,
    QUICK,
    numbered,
    refuse_next,
    send,
    settings_of,
    traded,
    until,
)
from fixtures.alpaca_server import KEY_ID, SECRET_KEY
from fixtures.order_records import intent
from tradingbot.data.sources.vendors import AlpacaCredentials
from tradingbot.domain.errors import BrokerUnavailableError, ConfigError, MissingExtraError
from tradingbot.runtime.brokers.alpaca.access import (
    AlpacaBrokerSettings,
    require_paper_account,
    require_paper_key,
)
from tradingbot.runtime.brokers.alpaca.broker import AlpacaBroker
from tradingbot.runtime.brokers.alpaca.opening import open_alpaca_broker

LIVE_KEY = "AK" + KEY_ID[2:]


@pytest.mark.parametrize(
    "url",
    [
        "https://api.alpaca.markets",
        "https://paper-api.alpaca.markets.evil.example",
        "http://paper-api.alpaca.markets",
        "https://broker-api.alpaca.markets",
        "http://10.0.0.1:8080",
    ],
)
def test_B25_only_the_paper_address_is_traded(url: str) -> None:
    with pytest.raises(ConfigError):
        AlpacaBrokerSettings(base_url=url)


@pytest.mark.parametrize("key", [LIVE_KEY, LIVE_KEY.lower(), "CK" + KEY_ID[2:]])
def test_B25_live_key_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="paper account") as refused:
        require_paper_key(AlpacaCredentials(key, SECRET_KEY), AlpacaBrokerSettings())
    assert key not in str(refused.value)


def test_B25_live_key_is_refused_on_this_machine_too_before_anything_is_sent() -> None:
    with FakeAlpaca() as fake:
        with pytest.raises(ConfigError):
            AlpacaBroker(AlpacaCredentials(LIVE_KEY, SECRET_KEY), settings_of(fake))
        assert fake.state()["requests"] == {}


def test_B25_account_that_is_no_paper_one_is_not_opened() -> None:
    with (
        FakeAlpaca(VenueOptions(account_number="987654321")) as fake,
        pytest.raises(ConfigError, match="PA"),
        AlpacaBroker(CREDENTIALS, settings_of(fake)),
    ):
        pass
    require_paper_account("PA3ABC")


def test_paper_address_has_its_stream_beside_it() -> None:
    settings = AlpacaBrokerSettings()
    assert settings.stream_url == "wss://paper-api.alpaca.markets/stream"
    require_paper_key(AlpacaCredentials("PK" + KEY_ID[2:], SECRET_KEY), settings)


@pytest.mark.parametrize(
    "changes",
    [
        {"timeout_s": float("inf")},
        {"lookup_wait_s": -1.0},
        {"reserved_for_cancels": 200},
        {"submit_attempts": 0},
        {"lookup_attempts": 1},
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        AlpacaBrokerSettings(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("skew_s", [0.0, 1.5, -2.0])
def test_B26_difference_of_the_clocks_is_seen(skew_s: float) -> None:
    """What the gate then refuses is `CLOCK_SKEW`."""
    with traded() as (fake, broker):
        fake.do(clock_skew_s=skew_s)

        seen = (broker.clock().now - datetime.now(UTC)).total_seconds()

        assert seen == pytest.approx(skew_s, abs=0.4)


def test_wrong_key_is_said_plainly() -> None:
    with (
        FakeAlpaca(keys={"PKOTHER": "other"}) as fake,
        pytest.raises(BrokerUnavailableError, match="valid key pair"),
        AlpacaBroker(CREDENTIALS, settings_of(fake)),
    ):
        pass


def test_C11_no_output_shows_a_key(capfd: pytest.CaptureFixture[str]) -> None:
    """Logs at DEBUG of every library, errors with their causes, reprs, and standard output."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with traded(timeout_s=0.5) as (fake, broker):
            echo = {"message": f"key {KEY_ID} with {SECRET_KEY} is wrong", "code": 40310000}
            for refusal in (403, 422):
                refuse_next(fake, refusal, echo)
                written.write(str(send(broker, numbered(refusal))))
            for fault in ("502_html", "cut_after", "drop_after", "hang_before"):
                fake.do(faults={"next": [{"operation": "account", "fault": fault}]})
                with pytest.raises(BrokerUnavailableError) as lost:
                    broker.account()
                written.writelines(traceback.format_exception(lost.value))
            send(broker, intent())
            fake.do(faults={"is_revoked": True})
            fake.drop_streams()
            until(lambda: broker._stream.is_key_refused)
            for each in (broker, broker._wire, broker._stream, broker._updates, CREDENTIALS):
                written.write(repr(each) + str(each))
            written.write(str(send(broker, numbered(9))))
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    text = written.getvalue() + "".join(capfd.readouterr())
    assert "urllib3" in text or "127.0.0.1" in text, "the logs must have been caught"
    assert KEY_ID not in text
    assert SECRET_KEY not in text
    assert "authenticate" not in text, "the frame with the key pair, which is cut in the middle"


def test_fake_runs_as_a_process_without_keys_in_its_command_line(tmp_path: Path) -> None:
    """Also: what it accepted survives SIGKILL, and an id is taken for ever."""
    import json

    import tradingbot

    tests = Path(__file__).resolve().parents[4]
    source = Path(tradingbot.__file__).parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{source}{os.pathsep}{tests}",
        "APCA_API_KEY_ID": KEY_ID,
        "APCA_API_SECRET_KEY": SECRET_KEY,
    }
    command = [
        *(sys.executable, "-m", "fakes.alpaca", "--store", str(tmp_path / "venue.jsonl")),
        *("--requests-per-minute", "0", "--fills", "by_hand"),
    ]
    reports = []
    for _ in range(2):
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as venue:
            try:
                assert venue.stdout is not None
                url = json.loads(venue.stdout.readline())["url"]
                line = Path(f"/proc/{venue.pid}/cmdline").read_bytes().decode()
                assert KEY_ID not in line
                assert SECRET_KEY not in line
                settings = AlpacaBrokerSettings(base_url=url, **{**QUICK, "timeout_s": 5.0})
                with AlpacaBroker(CREDENTIALS, settings) as broker:
                    reports.append(send(broker, intent()))
            finally:
                venue.kill()
    assert reports[0] == reports[1], "the second must have been adopted"
    assert SECRET_KEY not in (tmp_path / "venue.jsonl").read_text()


def test_opened_with_the_keys_of_the_environment() -> None:
    keys = {"APCA_API_KEY_ID": KEY_ID, "APCA_API_SECRET_KEY": SECRET_KEY}
    with FakeAlpaca() as fake, open_alpaca_broker(["SPY"], settings_of(fake), keys) as broker:
        assert broker.account().cash_ccy == 100_000
    with pytest.raises(ConfigError, match="APCA_API_KEY_ID"):
        open_alpaca_broker(environment={**keys, "APCA_API_KEY_ID": ""})


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.split(".")[0] == "alpaca"]:
        monkeypatch.delitem(sys.modules, name)
    package = "tradingbot.runtime.brokers.alpaca"
    for name in ("broker", "wire", "stream", "reading", "submission", "updates"):
        monkeypatch.delitem(sys.modules, f"{package}.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "alpaca", None)
    keys = {"APCA_API_KEY_ID": KEY_ID, "APCA_API_SECRET_KEY": SECRET_KEY}
    with pytest.raises(MissingExtraError, match=r"tradingbot\[trade\]"):
        open_alpaca_broker(environment=keys)
