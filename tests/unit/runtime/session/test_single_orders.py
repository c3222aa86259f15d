"""Turns that are repeated or proved, and facts that single orders are judged by."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from unittest import mock

import pytest

from fixtures import replayed_sessions
from fixtures.replayed_sessions import (
    FIRST,
    NAME,
    SYMBOLS,
    judge_one,
    model,
    open_session,
    proof_of,
)
from tradingbot.domain.denial import SessionDenial
from tradingbot.domain.errors import TradingError
from tradingbot.domain.order_intent import OrderIntent, Side
from tradingbot.risk.gate import OrderDenial
from tradingbot.risk.limits import WIDEST_SESSION_LIMITS
from tradingbot.runtime.session.verification import verify_day
from tradingbot.serving.served_model import ServedModel

STOP = FIRST + 6


def test_other_decisions_than_journaled_stop_a_restart(tmp_path: Path) -> None:
    open_session(tmp_path, stop=STOP).run(until=FIRST + 2).close()
    other = ServedModel.open(replayed_sessions.second_bundle())
    with mock.patch.object(replayed_sessions, "model", return_value=other):
        again = open_session(tmp_path, stop=STOP)
    sent = mock.Mock(side_effect=again.broker.submit)
    with (
        mock.patch.object(again.broker, "submit", sent),
        pytest.raises(TradingError, match="must come out again as it is journaled"),
    ):
        again.session.resume()
    again.close()

    assert not sent.called


def test_decision_on_a_bar_that_is_gone_is_a_difference(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=STOP).run()
    last = max(each.decided_at for each in opened.journal.decisions(NAME))
    opened.close()
    again = open_session(tmp_path, stop=STOP - 2)  # its last decision was on the one before
    proved = verify_day(proof_of(again.session), last.date())
    again.close()

    assert proved.difference == f"{last}: decided on a bar that the data do not have"


def test_price_of_a_symbol_without_a_bar_grows_old(tmp_path: Path) -> None:
    limits = replace(WIDEST_SESSION_LIMITS, max_price_age_s=90.0)
    opened = open_session(tmp_path, session_limits=limits).run(
        until=217
    )  # S001 has no bar since 214
    bar = opened.session.bar
    wanted = (
        OrderIntent(each, Side.BUY, Decimal(1), bar.closed_at, model().sha256, sequence=9)
        for each in SYMBOLS[1:]
    )
    stale, fresh = (judge_one(opened.session, each) for each in wanted)
    opened.close()

    assert isinstance(stale, OrderDenial)
    assert stale.code is SessionDenial.STALE_PRICE
    assert not isinstance(fresh, OrderDenial) or fresh.code is not SessionDenial.STALE_PRICE


def test_P03_nothing_is_opened_while_the_journal_is_down(tmp_path: Path) -> None:
    opened = open_session(tmp_path, stop=STOP).run(until=FIRST + 2)
    bar = opened.session.bar
    judged = list[object]()
    for is_down in (False, True):
        opened.session.desk.journal_is_down = is_down
        wanted = (SYMBOLS[0], Side.BUY, Decimal(1 + is_down), bar.closed_at, model().sha256)
        intent = OrderIntent(*wanted, sequence=9 + is_down, confidence=1.0)
        held = opened.session.desk.holdings.units(SYMBOLS[0])
        assert held >= 0  # a buy opens
        judged.append(judge_one(opened.session, intent))
    opened.close()

    codes = [getattr(each, "code", None) for each in judged]
    assert codes[0] is not SessionDenial.JOURNAL_UNAVAILABLE
    assert codes[1] is SessionDenial.JOURNAL_UNAVAILABLE
