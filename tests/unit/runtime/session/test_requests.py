"""Requests of persons to a session: in their order, none lost, none that was only half written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from unittest import mock

import pytest

from fixtures.replayed_sessions import FIRST, NAME, open_session
from tradingbot.data import atomic
from tradingbot.data.sources.pacing import Clock
from tradingbot.domain.errors import BrokerUnavailableError, TradingError
from tradingbot.domain.events.session import ActAudited, AlertRaised
from tradingbot.domain.order import OrderStatus
from tradingbot.runtime.approval import Approval
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.brokers.protocol import SubmitOutcome, SubmitReport
from tradingbot.runtime.journal.failures import JournalUnavailableError
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.session.control import arm, kill
from tradingbot.runtime.session.folder import Act, Request, SessionFolder
from tradingbot.runtime.session.loop import Pace, obey, rest_s, run_session

STOP = FIRST + 6


@pytest.fixture
def folder(tmp_path: Path) -> SessionFolder:
    (tmp_path / "requests").mkdir()
    return SessionFolder(tmp_path)


def acts(folder: SessionFolder) -> list[Act]:
    return [request.act for _, request in folder.waiting()]


def test_a_request_that_is_being_written_is_not_seen(
    folder: SessionFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[Act]] = []
    monkeypatch.setattr(atomic, "_fsync", lambda _: seen.append(acts(folder)))
    folder.ask(Request("stop", "ada", "lunch"))

    assert seen == [[], ["stop"]]  # never the kill that a file of no request is
    assert acts(folder) == ["stop"]


def test_requests_are_obeyed_in_their_order_whatever_was_obeyed_before(
    folder: SessionFolder,
) -> None:
    for reason in ("1", "2", "3"):
        folder.ask(Request("arm", "ada", reason))
    for path, _ in folder.waiting()[:2]:
        path.unlink()
    folder.ask(Request("kill", "ada", "4"))
    folder.ask(Request("arm", "ada", "5"))

    assert [request.reason for _, request in folder.waiting()] == ["3", "4", "5"]


def test_requests_at_once_replace_none(folder: SessionFolder) -> None:
    with mock.patch.object(Path, "iterdir", return_value=iter(())):  # each sees none before it
        folder.ask(Request("kill", "ada", "all", flatten=True))
    with mock.patch.object(Path, "iterdir", return_value=iter(())):
        folder.ask(Request("kill", "bob", "drill"))

    assert {request.by for _, request in folder.waiting()} == {"ada", "bob"}


def test_any_file_is_a_kill_and_one_that_is_gone_is_nothing(folder: SessionFolder) -> None:
    (folder.requests / ".halt").write_text("")
    assert acts(folder) == ["kill"]
    assert folder.is_killed
    with mock.patch.object(Path, "read_text", side_effect=FileNotFoundError):
        assert acts(folder) == []


def test_B22_a_cancel_of_which_nothing_is_known_is_asked_again(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 2)
    n_open = len(opened.broker.open_orders())
    assert n_open
    at, request = opened.session.bar.closed_at, Request("kill", "ada", "drill")
    lost = SubmitReport(SubmitOutcome.UNKNOWN, reason="no answer")
    with mock.patch.object(PaperBroker, "cancel", return_value=lost) as asked:
        with pytest.raises(BrokerUnavailableError, match="cancels must be answered"):
            kill(opened.session, request, at)
        assert asked.call_count == n_open  # the others are asked for all the same
    assert opened.session.trading_state.value == "halted"

    kill(opened.session, request, at)
    kills = opened.journal.events(NAME, ActAudited)
    assert opened.broker.open_orders() == ()
    assert [each.details["cancelled"] for each in kills if isinstance(each, ActAudited)] == [
        "the venue could not be asked",
        str(n_open),
    ]
    opened.close()


def test_B22_a_kill_needs_no_settings_and_an_arming_does(tmp_path: Path) -> None:
    (tmp_path / "requests").mkdir()
    folder = SessionFolder(tmp_path)
    folder.settings_path.write_text("{")  # damaged while it runs
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 2)
    now = opened.session.bar.closed_at
    folder.ask(Request("kill", "ada", "drill"))
    folder.ask(Request("arm", "ada", "never"))

    assert obey(opened.session, folder, lambda: now)
    assert opened.session.trading_state.value == "halted"
    alerts = opened.journal.events(NAME, AlertRaised)
    assert [each.code for each in alerts if isinstance(each, AlertRaised)] == ["ARM_REFUSED"]
    assert folder.waiting() == []
    opened.close()


def test_requests_stay_until_the_journal_holds_their_act(tmp_path: Path) -> None:
    (tmp_path / "requests").mkdir()
    folder = SessionFolder(tmp_path)
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 2)
    now = opened.session.bar.closed_at
    folder.ask(Request("kill", "ada", "drill"))
    gone = JournalUnavailableError("journal must confirm", was="no")
    with mock.patch.object(SessionJournal, "record", side_effect=gone):
        obey(opened.session, folder, lambda: now)
    assert acts(folder) == ["kill"]
    assert opened.session.trading_state.value == "halted"
    obey(opened.session, folder, lambda: now)

    assert acts(folder) == []
    kills = opened.journal.events(NAME, ActAudited)
    assert [each.act for each in kills if isinstance(each, ActAudited)][-1] == "kill"
    opened.close()


def test_B05_waits_grow_to_a_minute_and_stay_there_for_days() -> None:
    assert [rest_s(attempt) for attempt in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert rest_s(100_000) == 60


@pytest.mark.parametrize("reason", ["", " \t", "prices look wrong"])
def test_B22_a_kill_halts_without_a_reason_and_before_the_first_turn(
    tmp_path: Path, reason: str
) -> None:
    (tmp_path / "requests").mkdir()
    folder = SessionFolder(tmp_path)
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST - 1)  # history: no turn yet
    now = opened.session.bar.closed_at
    folder.ask(Request("kill", "", reason))
    assert obey(opened.session, folder, lambda: now)
    assert opened.session.trading_state.value == "halted"
    kills = opened.journal.events(NAME, ActAudited)
    assert [each.reason for each in kills if isinstance(each, ActAudited)] == [
        reason.strip() or "no reason was given"
    ]
    opened.close()

    for _ in range(2):  # a restart before the first turn, and one after it
        again = open_session(tmp_path, stop=STOP)
        again.session.resume()
        assert again.session.trading_state.value == "halted"
        again.run(until=FIRST + 3)
        assert again.broker.open_orders() == ()
        assert again.session.desk.gate.breakers.kill_reason is not None
        again.close()


def test_an_arming_before_the_first_turn_holds_too(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=STOP)
    at = datetime(2026, 1, 5, tzinfo=UTC)
    kill(opened.session, Request("kill", "ada", "drill"), at)
    arm(opened.session, Request("arm", "ada", "over"), at, frozenset({"ada"}))
    opened.close()

    again = open_session(tmp_path, stop=STOP)
    again.session.resume()
    assert again.session.trading_state.value == "active"
    again.close()


def test_B22_kill_that_comes_while_a_bar_is_sent_leaves_the_rest_unsent(tmp_path: Path) -> None:
    (tmp_path / "requests").mkdir()
    folder, sent = SessionFolder(tmp_path), list[str]()
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 2)
    submit, at = PaperBroker.submit, opened.session.bar.closed_at

    def ask_for_a_kill(self: PaperBroker, approval: Approval) -> SubmitReport:
        if not sent:
            folder.ask(Request("kill", "ada", "now"))
        sent.append(approval.intent.client_order_id)
        return submit(self, approval)

    with mock.patch.object(PaperBroker, "submit", ask_for_a_kill):
        assert run_session(opened.session, folder, Pace()) == "finished"
    orders = [each for each in opened.journal.orders(NAME) if each.intent.decided_at > at]
    bar = [each for each in orders if each.intent.decided_at == orders[0].intent.decided_at]
    opened.close()

    assert len(sent) == 1
    assert len(bar) > 1
    assert {each.status for each in bar} == {OrderStatus.CANCELLED}  # one at the venue
    assert opened.session.trading_state.value == "halted"
    assert {each.status for each in orders} == {OrderStatus.CANCELLED, OrderStatus.DENIED}


def test_B22_kill_that_closes_positions_is_not_cut_by_its_own_request(tmp_path: Path) -> None:
    (tmp_path / "requests").mkdir()
    folder = SessionFolder(tmp_path)
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 3)
    assert opened.broker.positions()
    folder.ask(Request("kill", "ada", "now", flatten=True))
    run_session(opened.session, folder, Pace())
    left = opened.broker.positions()
    opened.close()

    assert left == {}


def test_session_without_bars_gives_a_sign_of_life_every_second(tmp_path: Path) -> None:
    (tmp_path / "requests").mkdir()
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 2)
    feed, slept, alive = opened.session.source, list[float](), list[int]()
    with mock.patch.object(type(feed), "bars", return_value=iter([None] * 5)):
        clock = Clock(sleep=slept.append)
        pace = Pace(clock, is_live=True, alive=lambda: alive.append(len(slept)))
        assert run_session(opened.session, SessionFolder(tmp_path), pace) == "finished"
    opened.close()

    assert alive == [0, 1, 2, 3, 4]
    assert slept == [1.0] * 5


@pytest.mark.parametrize("set_back_s", [0.0, 600.0])
def test_rest_is_no_longer_for_a_clock_that_is_set_back(tmp_path: Path, set_back_s: float) -> None:
    """A venue is asked again after seconds, not after the minutes by which the clock was set."""
    (tmp_path / "requests").mkdir()
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 2)
    feed = opened.session.source
    bars = list(islice(feed.bars(after=FIRST + 1), 1))
    at, slept = [datetime(2026, 1, 5, 15, tzinfo=UTC)], list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        at[0] += timedelta(seconds=seconds - (set_back_s if len(slept) == 3 else 0.0))

    clock = Clock(now=lambda: at[0], sleep=sleep)
    with mock.patch.object(type(feed), "bars", return_value=iter(bars)):
        run_session(opened.session, SessionFolder(tmp_path), Pace(clock, wait_s=lambda _: 10.0))
    opened.close()

    assert 10.0 <= sum(slept) <= 11.0


def test_nothing_is_armed_that_has_not_tripped(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 2)
    with pytest.raises(TradingError, match="something must have tripped"):
        arm(
            opened.session,
            Request("arm", "ada", "why"),
            datetime(2026, 1, 5, tzinfo=UTC),
            frozenset({"ada"}),
        )
    assert opened.journal.events(NAME, ActAudited) == ()
    opened.close()
