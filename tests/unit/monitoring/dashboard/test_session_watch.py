"""A session is read as it grows: what is new is seen, failures are told."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from fixtures.dashboard_pages import run_page, words_of
from fixtures.watched_sessions import (
    FIRST,
    HOSTILE,
    START_CCY,
    alert,
    begin,
    fill_session,
    make_session,
    settle,
    trade,
    watch,
    writing,
)
from tradingbot.domain.events.session import ActAudited
from tradingbot.domain.trading_state import TradingState
from tradingbot.monitoring.dashboard.settings import DashboardSettings
from tradingbot.monitoring.dashboard.sources.watched_workspace import WatchedWorkspace
from tradingbot.runtime.journal.equity import read_equity
from tradingbot.runtime.journal.reading import JournalReader


def test_session_shows_money_positions_orders_trades_and_breakers(tmp_path: Path) -> None:
    fill_session(tmp_path, bars=30)

    watched = watch(tmp_path)
    assert watched.has_unread  # a page says that it reads
    (view,) = watched.sessions()

    assert not watched.has_unread
    assert view.state is not None
    assert float(view.state.equity_ccy) == START_CCY + 290
    assert len(view.equity) == 30
    assert view.equity.equity_ccy[-1] == START_CCY + 290
    assert [each.symbol for each in view.positions] == ["SPY"]
    assert view.positions[0].mark == pytest.approx(100 + np.sin(29 / 3))
    assert [each.intent.symbol for each in view.open_orders] == ["SPY"]
    assert [each.reason for each in view.denied] == ["MAX_POSITION: limit=1 observed=2"]
    assert view.trades[0].fill.fill_id == "f29-QQQ"
    assert view.trades[0].decision is not None
    assert view.trades[0].decision.raw_action == -0.5
    assert view.latency_s == 0.25
    assert view.acting is not None
    assert (view.acting.run, view.acting.verdict) == ("toy", "GO")
    assert {each.name for each in view.breakers} >= {"drawdown", "daily loss", "kill switch"}
    assert [each.text for each in view.alerts] == ["QQQ is late"]


def test_session_that_grows_is_seen_at_the_next_look(tmp_path: Path) -> None:
    folder = make_session(tmp_path)
    watched = watch(tmp_path)
    with writing(folder) as journal:
        journal.record(*begin(), session="first")
        assert watched.sessions()[0].state is None
        for bar in range(3):
            journal.record(*trade(bar), settle(bar), session="first")
            view = watched.sessions()[0]
            assert view.state is not None
            assert view.state.at == FIRST.replace(hour=15 + bar)
            assert len(view.equity) == bar + 1
            assert view.n_fills == bar + 1
        journal.record(alert(3), session="first")
        assert len(watched.sessions()[0].alerts) == 1


def test_tripped_breaker_and_distance_are_those_of_the_journal(tmp_path: Path) -> None:
    folder = make_session(tmp_path)
    with writing(folder) as journal:
        facts = {"drawdown_frac": 0.16, "loss_frac": 0.015, "trades": 40}
        halted = settle(0, state=TradingState.REDUCING, **facts)
        journal.record(*begin(), halted, session="first")

    (view,) = watch(tmp_path).sessions()

    assert view.tripped == ("drawdown",)
    used = {each.name: each.used_frac for each in view.breakers}
    assert used["drawdown"] == 1.0
    assert used["daily loss"] == pytest.approx(0.75)
    assert used["trades"] == pytest.approx(0.4)


def test_journal_that_is_damaged_is_told_and_old_numbers_stay_marked(tmp_path: Path) -> None:
    folder = fill_session(tmp_path)
    watched = watch(tmp_path)
    before = watched.sessions()[0]
    content = folder.journal.read_bytes()
    for file in folder.path.glob("journal.sqlite*"):
        file.unlink()
    folder.journal.write_bytes(b"no database at all" * 100)

    view = watched.sessions()[0]

    assert view.problem
    assert view.freshness.state == "stale"
    assert view.freshness.since == before.freshness.since
    assert view.state == before.state
    folder.journal.write_bytes(content)
    assert watched.sessions()[0].problem == ""


def test_empty_session_and_no_session_have_no_numbers(tmp_path: Path) -> None:
    assert watch(tmp_path).sessions() == []
    make_session(tmp_path)

    (view,) = watch(tmp_path).sessions()

    assert view.state is None
    assert len(view.equity) == 0
    assert view.problem  # there is no journal yet


def test_hostile_names_are_kept_as_they_are(tmp_path: Path) -> None:
    fill_session(tmp_path, bars=8, symbols=HOSTILE)

    (view,) = watch(tmp_path).sessions()

    assert view.symbols == HOSTILE
    assert view.positions[0].symbol == HOSTILE[0]


def test_equity_is_read_from_an_entry_on_and_equals_the_rows(tmp_path: Path) -> None:
    folder = fill_session(tmp_path, bars=20)
    with JournalReader.at(folder.journal) as journal:
        whole = read_equity(journal, "first")
        empty = read_equity(journal, "first", after=whole.seq)
        saved = [
            each for each in journal.newest("first", limit=1000) if "equity_ccy" in each.values
        ]
        rest = read_equity(journal, "first", after=saved[9].seq)

    assert len(whole.at) == 20
    assert [float(each.values["equity_ccy"]) for each in saved] == whole.equity_ccy.tolist()
    assert whole.at[0] == np.datetime64(FIRST.replace(tzinfo=None), "us")
    assert (len(empty.at), empty.seq) == (0, whole.seq)
    assert rest.equity_ccy.tolist() == whole.equity_ccy[10:].tolist()


def test_session_of_a_journal_elsewhere_is_watched_beside_the_workspace(tmp_path: Path) -> None:
    other = fill_session(tmp_path / "other", "away", bars=3)
    fill_session(tmp_path / "here", "near", bars=3)

    found = watch(tmp_path / "here", journal=str(other.journal)).sessions()

    assert [each.name for each in found] == ["away", "near"]
    assert found[0].freshness.state == "unknown"
    assert found[0].terms is None
    assert len(found[0].equity) == 3


def test_running_replay_that_says_nothing_is_stale_since_then(tmp_path: Path) -> None:
    folder = fill_session(tmp_path, bars=3)
    with folder.hold():
        fresh = watch(tmp_path, datetime.now(UTC)).sessions()[0]
        late = watch(tmp_path, datetime.now(UTC).replace(year=2100)).sessions()[0]
    stopped = watch(tmp_path, datetime.now(UTC)).sessions()[0]

    assert fresh.freshness.state == "live"
    assert late.freshness.state == "stale"
    assert late.freshness.since == fresh.freshness.since
    assert stopped.freshness.state == "stopped"
    assert replace(stopped, freshness=fresh.freshness).state == fresh.state


def test_positions_that_a_kill_could_not_close_are_shown_until_they_are(tmp_path: Path) -> None:
    folder, watched = make_session(tmp_path), watch(tmp_path)
    told = {"flatten": "true", "exits": "0", "exits_denied": "2", "cancelled": "0"}
    why = {"left:SPY": "PRICE_COLLAR: limit=0.05 observed=0.1", "left:QQQ": "PRICE_JUMP: …"}
    seen = []
    for details in (
        {**told, **why},
        told,
        {"flatten": "true", "cancelled": "the venue could not be asked"},
    ):
        with writing(folder) as journal:
            journal.record(*begin(), settle(0), session="first")
            journal.record(ActAudited(FIRST, "kill", "ada", "drill", details), session="first")
        (view,) = watched.sessions()
        seen.append([(each.symbol, str(each.units), each.why) for each in view.unclosed])

    shown = words_of(run_page(tmp_path, "Live"))
    with writing(folder) as journal:
        armed = {"breakers": "drawdown, kill_switch"}
        journal.record(ActAudited(FIRST, "arm", "ada", "over", armed), session="first")
    (view,) = watched.sessions()

    assert seen == [
        [("SPY", "10", "PRICE_COLLAR: limit=0.05 observed=0.1")],  # QQQ is not held any more
        [],
        [("SPY", "10", "the venue could not be asked")],
    ]
    assert "Positions that a kill could not close yet" in shown
    assert view.unclosed == ()


def test_session_that_begins_is_listed_though_the_clock_was_set_back(tmp_path: Path) -> None:
    at = [FIRST]
    watched = WatchedWorkspace(DashboardSettings(str(tmp_path)), lambda: at[0])
    assert watched.sessions() == []
    make_session(tmp_path)

    at[0] -= timedelta(hours=1)

    assert [each.name for each in watched.sessions()] == ["first"]
