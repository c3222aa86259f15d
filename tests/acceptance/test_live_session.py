"""Sessions on live bars by command, at a local Alpaca: late bars, a venue that is away, a pause."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fakes.alpaca import FakeAlpaca, VenueOptions
from fakes.alpaca.market_hours import NewYorkHours
from fixtures.alpaca_server import KEY_ID, SECRET_KEY
from fixtures.paper_workspace import LAST_DAY, make_paper_workspace, market_until
from fixtures.simulated_market import SimulatedMarket
from tradingbot.app.cli.application import run
from tradingbot.app.paper import planning, signals
from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.ingest import ingest
from tradingbot.data.store import BarStore
from tradingbot.domain.events.session import ActAudited, AlertRaised, ModelLoaded
from tradingbot.domain.timeframe import BarGrid, Timeframe
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.session.bar_record import BarRecord
from tradingbot.runtime.session.folder import Request, SessionFolder
from tradingbot.runtime.session.phase import read_phase

HISTORY_UNTIL = date(2025, 10, 7)
TRADING = ["submit", "orders", "find", "positions", "account", "activities", "clock", "asset"]
WEDNESDAY, THURSDAY = date(2025, 10, 8), date(2025, 10, 9)


def at(day: date, hour: int, minute: int = 0) -> datetime:
    return datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_paper_workspace(tmp_path_factory.mktemp("live"))
    ingest(market_until(HISTORY_UNTIL), BarStore(folder), name="history")
    return folder


@pytest.fixture(scope="module")
def coming(workspace: Path) -> pl.DataFrame:
    """Bars after the history, with the time at which each opened."""
    bars = BarStore(workspace).open("mine").load_bars()
    calendar = TradingCalendar.load("XNYS", HISTORY_UNTIL, LAST_DAY)
    opens = calendar.bar_closes(Timeframe.parse("1h"), BarGrid.SESSION)
    later = bars.filter(pl.col("closed_at") > at(HISTORY_UNTIL, 23))
    return later.join(opens.select("closed_at", "opened_at"), on="closed_at")


@dataclass
class LiveDesk:
    """The commands, the venue and the time of one test."""

    workspace: Path
    fake: FakeAlpaca
    market: SimulatedMarket
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *words: str, code: int = 0) -> str:
        got = run(["--workspace", str(self.workspace), "paper", *words])
        told = self.capsys.readouterr()
        assert got == code, told.err
        self.told += told.out + told.err
        return told.out + told.err

    told: str = ""

    def start(self, name: str, *words: str, model: str = "long") -> str:
        bundle = str(self.workspace / f"{model}.zip")
        base = ("start", bundle, "--name", name, "--dataset", "history", "--unlimited")
        accepted = ("--accept", "not evaluated") if "alpaca" in words else ()
        return self(*base, *words, *accepted)

    def start_refused(self, name: str, *words: str, accept: str | None = "not evaluated") -> str:
        if accept is not None and "alpaca" in words:
            words = (*words, "--accept", accept)
        bundle = str(self.workspace / "long.zip")
        base = ("start", bundle, "--name", name, "--dataset", "history", "--unlimited")
        return self(*base, *words, code=2)

    def journal_acts(self, name: str) -> list[Any]:
        with JournalReader.at(self.folder(name).journal) as journal:
            return list(journal.events(name, ActAudited))

    def folder(self, name: str) -> SessionFolder:
        return SessionFolder(self.workspace / "sessions" / name)

    def stop_at(self, name: str, moment: datetime) -> None:
        request = Request("stop", "ada", "end of the day")
        self.market.events.append((moment, lambda: self.folder(name).ask(request)))

    def status(self, name: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self("status", name, "--json"))
        return document


def start_no_child(*words: object, **options: object) -> None:
    """C11: a session starts no process, which would have the keys among its words or variables."""
    raise AssertionError(f"a session started {words}")


@pytest.fixture
def desk(
    workspace: Path,
    coming: pl.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[LiveDesk]:
    symbols = tuple(coming["symbol"].unique().sort())
    hours = NewYorkHours(date(2025, 9, 1), date(2025, 10, 31))
    options = VenueOptions(symbols=symbols, hours=hours, start_cash=Decimal(300_000))
    with FakeAlpaca(options) as fake:
        market = SimulatedMarket(fake, coming, at(WEDNESDAY, 12))
        monkeypatch.setattr(signals, "CLOCK", market.clock)
        monkeypatch.setattr(subprocess, "Popen", start_no_child)
        monkeypatch.setenv("APCA_API_KEY_ID", KEY_ID)
        monkeypatch.setenv("APCA_API_SECRET_KEY", SECRET_KEY)
        monkeypatch.setenv("APCA_API_BASE_URL", fake.url)
        monkeypatch.setenv("APCA_API_DATA_URL", fake.url)
        yield LiveDesk(workspace, fake, market, capsys)


def closes_of(record: Path) -> dict[datetime, set[str]]:
    return {seen.closed_at: set(seen.rows) for seen in BarRecord(record).read()}


def decided(desk: LiveDesk, name: str) -> set[datetime]:
    with JournalReader.at(desk.folder(name).journal) as journal:
        return {event.decided_at for event in journal.decisions(name)}


def test_session_trades_at_alpaca_by_command(desk: LiveDesk) -> None:
    market, symbols = desk.market, desk.fake.venue.assets
    late = (min(symbols), market.closes[2])
    market.late.add(late)
    desk.stop_at("live", at(WEDNESDAY, 17, 40))
    assert "live stopped" in desk.start("live", "--broker", "alpaca")
    document, seen = desk.status("live"), closes_of(desk.folder("live").bars)

    assert document["n_fills"] > 2
    assert document["trading_state"] == "active"
    with JournalReader.at(desk.folder("live").journal) as journal:
        (loaded,) = journal.events("live", ModelLoaded)
    assert isinstance(loaded, ModelLoaded)
    assert loaded.verdict == "not evaluated"
    assert loaded.details["standing"] == "not registered, not evaluated, accepted: not evaluated"
    told = desk.start_refused("candidate", "--broker", "alpaca", accept=None)
    assert "must be on paper to trade at a venue outside" in told
    told = desk.start_refused("candidate", "--broker", "alpaca", accept="GO")
    assert "--accept must name a verdict that is in the way" in told
    assert not desk.folder("candidate").path.exists()
    other = str(desk.workspace / "long.zip")
    assert "must be on paper" in desk("swap", "live", other, code=2)
    assert set(seen) == set(market.closes[:4])  # 14:30 … 17:30; the day opens at 13:30 UTC
    assert seen[late[1]] == set(symbols) - {late[0]}  # a minute later it was there; too late
    assert decided(desk, "live") == set(market.closes[:4])
    at_venue = desk.fake.state()
    assert {k: Decimal(v) for k, v in at_venue["positions"].items() if Decimal(v)} == {
        k: Decimal(v) for k, v in document["positions"].items()
    }
    assert len(at_venue["orders"]) == sum(
        n for status, n in document["orders"].items() if status != "denied"
    )

    market.pass_time(3600 * 20)  # it sleeps over the afternoon and the night
    assert market.now > at(THURSDAY, 13)
    desk.stop_at("live", at(THURSDAY, 15, 40))
    desk("resume", "live")
    seen = closes_of(desk.folder("live").bars)
    stale = set(market.closes[4:7])
    assert stale < set(seen)  # taken, as old as they are
    assert decided(desk, "live").isdisjoint(stale)
    assert max(decided(desk, "live")) == at(THURSDAY, 15, 30)
    assert "bit for bit" in desk("replay", "live", "--verify", "2025-10-08")
    assert "bit for bit" in desk("replay", "live", "--verify", "2025-10-09")
    require_no_secret(desk)


def require_no_secret(desk: LiveDesk) -> None:
    """C11: neither outputs nor files hold the key pair."""
    assert len(SECRET_KEY) > 8
    for secret in (KEY_ID, SECRET_KEY):
        assert secret not in desk.told
        holding = [
            path
            for path in desk.workspace.rglob("*")
            if path.is_file() and secret.encode() in path.read_bytes()
        ]
        assert holding == []


@pytest.mark.parametrize(("half_spread_ccy", "code"), [(5.0, "QUOTE_WIDE"), (0.0, "QUOTE_CROSSED")])
def test_D30_no_market_order_is_sent_into_a_wide_or_a_locked_quote(
    desk: LiveDesk, half_spread_ccy: float, code: str
) -> None:
    desk.market.half_spread_ccy = half_spread_ccy
    name = code.lower()
    desk.stop_at(name, at(WEDNESDAY, 17, 40))
    desk.start(name, "--broker", "alpaca", "--limit", "max_spread_frac=0.005")
    document = desk.status(name)

    assert document["denials"][code] > 0
    assert document["n_sent"] == 0
    assert document["n_judged"] == document["orders"]["denied"]
    assert not desk.fake.state()["orders"]


def test_B05_session_waits_while_the_venue_is_away(desk: LiveDesk) -> None:
    def fail(rate: float) -> None:
        rates = {"502_html": rate} if rate else {}
        desk.fake.do(faults={"schedule": {"seed": 1, "operations": TRADING, "rates": rates}})

    desk.market.events += [
        (at(WEDNESDAY, 15, 20), lambda: fail(1.0)),
        (at(WEDNESDAY, 15, 50), lambda: fail(0.0)),
    ]
    desk.stop_at("away", at(WEDNESDAY, 17, 40))
    desk.start("away", "--broker", "alpaca")
    status = desk.status("away")
    requests = sum(desk.fake.state()["requests"].values())

    assert any("must answer" in text for text in status["alerts"])
    assert any("answers again" in text for text in status["alerts"])
    assert decided(desk, "away") == {desk.market.closes[k] for k in (0, 2, 3)}  # not at 15:30
    assert status["is_running"] is False
    assert requests < 400  # it waits, it does not spin
    require_equal_positions(desk, status)


def require_equal_positions(desk: LiveDesk, status: dict[str, Any]) -> None:
    held = desk.fake.state()["positions"]
    assert {k: Decimal(v) for k, v in held.items() if Decimal(v)} == {
        k: Decimal(v) for k, v in status["positions"].items()
    }


def test_B15_positions_made_outside_are_adopted_by_a_persons_word(desk: LiveDesk) -> None:
    symbol = min(desk.fake.venue.assets)
    desk.market.pass_time(3600 * 2)
    desk.fake.venue.positions[symbol] = Decimal(7)
    desk.fake.venue.costs[symbol] = Decimal(700)

    told = desk.start_refused("mine", "--broker", "alpaca")
    assert "positions must be those of the venue" in told
    assert "--adopt" in told

    desk.stop_at("mine", desk.market.now + timedelta(hours=2))
    desk("resume", "mine", "--adopt", "ada")
    status = desk.status("mine")
    held = Decimal(desk.fake.state()["positions"][symbol])
    assert held - Decimal(status["positions"].get(symbol, "0")) == 7
    desk.stop_at("mine", desk.market.now + timedelta(hours=2))
    desk("resume", "mine")  # it is known over a restart
    acts = desk.journal_acts("mine")
    assert [(act.actor, act.details) for act in acts if act.act == "adopt"] == [
        ("ada", {symbol: "7"})
    ]


def feed_folder(desk: LiveDesk, coming: pl.DataFrame, folder: Path, n_bars: int = 3) -> None:
    """Let a file of each of the next bars appear twelve seconds after its close."""

    def put(k: int, bars: pl.DataFrame) -> None:
        half = folder / f".{k}.csv"
        table = bars.select(
            "symbol", pl.col("closed_at").dt.strftime("%Y-%m-%dT%H:%M:%SZ").alias("timestamp"),
            *("open", "high", "low", "close", "volume"),
        )  # fmt: skip
        table.write_csv(half)
        half.rename(folder / f"bars-{k}.csv")

    for k, close in enumerate(desk.market.closes[:n_bars]):
        rows = coming.filter(pl.col("closed_at") == close)
        moment = close + timedelta(seconds=12)
        desk.market.events.append((moment, lambda k=k, rows=rows: put(k, rows)))  # type: ignore[misc]


def test_session_that_warms_up_is_told_from_one_that_waits(
    desk: LiveDesk, coming: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_known = BarStore(desk.workspace).open("history").load_bars()["closed_at"].n_unique()
    monkeypatch.setattr(planning, "count_warm_up", lambda _: n_known + 2)
    feed_folder(desk, coming, tmp_path)
    seen: list[dict[str, Any]] = []
    for hour in (13, 14, 15):
        look = (at(WEDNESDAY, hour, 45), lambda: seen.append(read_phase(desk.folder("warm"))))
        desk.market.events.append(look)
    desk.stop_at("warm", at(WEDNESDAY, 17, 0))

    told = desk.start("warm", "--bars", f"folder:{tmp_path}")

    assert f"{n_known} of {n_known + 2} bars are known, nothing is decided before" in told
    closes = [each.isoformat() for each in desk.market.closes]
    of = f"of {n_known + 2} bars"
    assert seen == [
        {"phase": "warming up", "warm_up": f"{n_known} {of}", "next_bar_at": closes[0]},
        {"phase": "waiting", "warm_up": None, "next_bar_at": closes[1]},
        {"phase": "waiting", "warm_up": None, "next_bar_at": closes[2]},
    ]
    assert decided(desk, "warm") == set(desk.market.closes[1:3])
    assert desk.status("warm")["phase"] == "not running"
    with JournalReader.at(desk.folder("warm").journal) as journal:
        codes = [event.code for event in journal.events("warm", AlertRaised)]  # type: ignore[attr-defined]
    assert codes == ["WARMING_UP", "WARM"]


def test_folder_that_grows_feeds_a_session(
    desk: LiveDesk, coming: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half.csv.part").write_text("not yet")
    (tmp_path / "broken.csv").write_text("symbol,timestamp\nSPY,never\n")
    feed_folder(desk, coming, tmp_path)
    desk.stop_at("fed", at(WEDNESDAY, 17, 0))
    with monkeypatch.context() as patched:
        patched.chdir(tmp_path.parent)
        desk.start("fed", "--bars", f"folder:{tmp_path.name}")

    assert desk.folder("fed").settings().bars == f"folder:{tmp_path}"  # resumed from anywhere
    assert decided(desk, "fed") == set(desk.market.closes[:3])
    status = desk.status("fed")
    assert status["n_fills"] > 0
    assert any("broken.csv" in text for text in status["alerts"])
    assert desk.fake.state()["orders"] == []  # the built-in broker trades
    assert "bit for bit" in desk("replay", "fed", "--verify", "2025-10-08")


@pytest.mark.parametrize(
    ("words", "variables", "says"),
    [
        (("--broker", "alpaca"), {"APCA_API_KEY_ID": "AKLIVE123"}, "key of a paper account"),
        (
            ("--broker", "alpaca"),
            {"APCA_API_BASE_URL": "https://api.alpaca.markets"},
            "only Alpaca's paper account may be traded",
        ),
        (("--broker", "alpaca", "--bars", "replay"), {}, "bars must be live"),
        (("--broker", "alpaca", "--speed", "2"), {}, "--speed must stand with --bars replay"),
        (("--broker", "alpaca", "--parts", "2"), {}, "--parts must stand with --broker paper"),
        (("--broker", "alpaca", "--splits", "x"), {}, "--splits must stand with --broker paper"),
        (("--adopt", "ada"), {}, "--adopt must stand with a venue"),
        (("--broker", "alpacca"), {}, "--broker must be one that is offered"),
        (("--bars", "folder:/nowhere"), {}, "a folder of bars must exist"),
        (("--bars", "folder:"), {}, "--bars must be replay, alpaca or folder:PATH"),
    ],
)
def test_B25_what_is_not_paper_is_refused_early(
    desk: LiveDesk,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    variables: dict[str, str],
    says: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    told = desk.start_refused("never", *words)

    assert says in told
    assert "AKLIVE123" not in told
    assert not desk.folder("never").path.exists()
    assert desk.fake.state()["requests"] == {}
