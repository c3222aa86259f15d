"""What ended before a restart stays ended: no order is sent that the journal says was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from fixtures.replayed_sessions import FIRST, NAME, OpenSession, open_session
from tradingbot.domain.errors import StorageError
from tradingbot.domain.events.trading import OrderFilled
from tradingbot.domain.trading_state import TradingState
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.brokers.protocol import SubmitOutcome, SubmitReport
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.session.control import arm, kill
from tradingbot.runtime.session.folder import Request

STOP = FIRST + 8


def take_next(opened: OpenSession) -> None:
    bar = next(iter(opened.session.source.bars(after=opened.session.bar.number)))
    opened.session.take(bar, bar.closed_at)


def deny_by_kill(opened: OpenSession) -> None:
    kill(opened.session, Request("kill", "ada", "drill"), opened.session.bar.closed_at)
    take_next(opened)


def reject(opened: OpenSession) -> None:
    no = SubmitReport(SubmitOutcome.REJECTED, reason="insufficient buying power")
    with mock.patch.object(PaperBroker, "submit", return_value=no):
        take_next(opened)


def withdraw(opened: OpenSession) -> None:
    """The journal cannot be written for one turn: what it missed is written later."""
    failed = StorageError("the disk must be writable", was="EIO")
    with (
        mock.patch.object(SessionJournal, "_write", side_effect=failed),
        mock.patch.object(SessionJournal, "flush", return_value=False),
    ):
        take_next(opened)


def arm_stopped(folder: Path) -> None:
    """As `paper arm` does where no process trades the session."""
    opened = open_session(folder, stop=STOP)
    opened.session.resume(sends=False)
    request = Request("arm", "ada", "over")
    if opened.session.trading_state is not TradingState.ACTIVE:
        arm(opened.session, request, opened.session.bar.closed_at, frozenset({"ada"}))
    opened.close()


@pytest.mark.parametrize(
    ("happens", "status"),
    [(deny_by_kill, "denied"), (reject, "rejected"), (withdraw, "cancelled")],
)
def test_B13_orders_that_ended_before_a_restart_are_not_sent(
    tmp_path: Path, happens: Callable[[OpenSession], None], status: str
) -> None:
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 3)
    happens(opened)
    at = opened.session.bar.closed_at
    opened.close()
    arm_stopped(tmp_path)

    again = open_session(tmp_path, stop=STOP)
    submit = mock.Mock(side_effect=again.broker.submit)
    with mock.patch.object(again.broker, "submit", submit):
        again.session.resume()
    ended = [each for each in again.journal.orders(NAME) if each.intent.decided_at == at]
    again.run()
    later = [each for each in again.journal.orders(NAME) if each.intent.decided_at == at]
    filled = {each.fill.client_order_id for each in again.journal.events(NAME, OrderFilled)}
    again.close()

    found = Counter(each.status.value for each in ended)
    assert found[status]
    assert found[status] + found["denied"] * (status != "denied") == len(ended)
    assert not submit.called
    assert later == ended
    assert not filled & {each.client_order_id for each in ended}
    assert filled  # it trades on


def breakers_of(opened: OpenSession) -> dict[str, Any]:
    state = opened.session.desk.gate.breakers
    return {
        "messages": state.messages_used,
        "sent": sorted(state.sent),
        "throttled": state.throttled,
    }


@pytest.mark.parametrize("happens", [reject, take_next, withdraw])
def test_orders_that_were_answered_count_after_a_restart_as_before(
    tmp_path: Path, happens: Callable[[OpenSession], None]
) -> None:
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 3)
    happens(opened)
    before = breakers_of(opened)
    opened.close()
    again = open_session(tmp_path, stop=STOP)
    again.session.resume()
    after = breakers_of(again)
    again.close()

    assert after == before
    assert before["sent"]
