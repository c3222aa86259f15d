"""What breakers and limits count of a session's orders: all of it, once, over days and restarts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from fixtures.replayed_sessions import FIRST, NAME, OpenSession, open_session
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import OrderIntent
from tradingbot.risk.limits import WIDEST_SESSION_LIMITS
from tradingbot.runtime.breaker import Breaker, list_tripped
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.brokers.protocol import SubmitOutcome, SubmitReport, UpdateKind
from tradingbot.runtime.gate import SessionGate
from tradingbot.runtime.order_facts import OrderContext
from tradingbot.runtime.session.facts import MarketFacts


def trades_of_day(opened: OpenSession, day: object) -> int:
    """Orders with a fill on a day, by the journal."""
    day_of = opened.session.hours.day_of
    fills = opened.journal.fills(NAME)
    return len({each.client_order_id for each in fills if day_of(each.filled_at) == day})


def test_trades_of_a_day_begin_with_its_first_open(tmp_path: Path) -> None:
    opened, counted = open_session(tmp_path), set[int]()
    for bar in opened.session.source.bars():
        opened.session.take(bar, bar.closed_at)
        if bar.number >= FIRST:
            day = opened.session.hours.day_of(bar.closed_at)
            trades = opened.session.desk.gate.breakers.trades
            assert trades == trades_of_day(opened, day), bar.closed_at
            counted.add(trades)
    opened.close()

    assert len(counted) > 3


@pytest.mark.parametrize("most", [1, 2, 5])
def test_no_day_has_more_trades_than_allowed(tmp_path: Path, most: int) -> None:
    limits = replace(WIDEST_SESSION_LIMITS, max_trades=most)
    opened = open_session(tmp_path, session_limits=limits).run()
    day_of, opening = opened.session.hours.day_of, Counter[object]()
    held: dict[str, Decimal] = {}
    for fill in opened.journal.fills(NAME):  # what only reduces may always leave
        before = held.get(fill.symbol, Decimal(0))
        held[fill.symbol] = before + fill.signed_units
        opening[day_of(fill.filled_at)] += abs(held[fill.symbol]) > abs(before)
    reasons = [order.reason or "" for order in opened.journal.orders(NAME)]
    opened.close()

    assert max(opening.values()) <= most
    assert any(reason.startswith(f"TRADE_COUNT: limit={most}") for reason in reasons)


def test_orders_of_a_bar_count_once_in_gross_exposure(tmp_path: Path) -> None:
    judged, measured = SessionGate._exposure, list[tuple[float, float]]()

    def measure(self: SessionGate, intent: OrderIntent, known: OrderContext, working: Any) -> Any:
        gross, net = judged(self, intent, known, working)
        assert known.mark is not None
        assert known.held_values_ccy is not None
        after = dict[str, float]()  # flat: only orders count
        orders = [each.intent for each in self.book.working()]
        marks = {each.client_order_id: self.prices[each.client_order_id] for each in orders}
        for order in (*orders, intent):
            mark = marks.get(order.client_order_id, known.mark)
            value = float(order.signed_units) * mark
            after[order.symbol] = after.get(order.symbol, 0.0) + value
        measured.append((gross, sum(abs(each) for each in after.values())))
        assert abs(net - sum(after.values())) < 1e-6
        return gross, net

    with mock.patch.object(SessionGate, "_exposure", measure):
        opened = open_session(tmp_path).run(until=FIRST + 1)  # flat before: every order opens
    opened.close()

    assert len(measured) == 3
    for gross, true in measured:
        assert abs(gross - true) < 1e-6


def test_orders_of_a_bar_count_in_the_exposure_of_symbols_that_move_together(
    tmp_path: Path,
) -> None:
    judge, values, seen = SessionGate.judge, [0.0], list[tuple[float, float]]()

    def measure(self: SessionGate, intent: OrderIntent, known: OrderContext) -> Any:
        assert known.mark is not None
        assert known.equity_ccy is not None
        assert known.correlated_exposure_frac is not None
        values.append(float(intent.quantity_units) * known.mark)
        seen.append((known.correlated_exposure_frac, sum(values) / known.equity_ccy))
        return judge(self, intent, known)

    together = mock.patch.object(MarketFacts, "correlated_with", return_value=np.ones(3, bool))
    with together, mock.patch.object(SessionGate, "judge", measure):
        opened = open_session(tmp_path).run(until=FIRST + 1)
    opened.close()

    assert len(seen) == 3
    for found, true in seen:
        assert abs(found - true) < 1e-9


def test_what_is_held_is_judged_with_every_order(tmp_path: Path) -> None:
    opened = open_session(tmp_path).run(until=FIRST + 3)
    judge, seen = SessionGate.judge, list[dict[str, float]]()

    def measure(self: SessionGate, intent: OrderIntent, known: OrderContext) -> Any:
        assert known.held_values_ccy is not None
        seen.append(dict(known.held_values_ccy))
        return judge(self, intent, known)

    with mock.patch.object(SessionGate, "judge", measure):
        opened.run(until=FIRST + 4)
    account, symbols = opened.session.account, opened.session.symbols
    worth = (account.units * account.mark).tolist()
    opened.close()

    held = {symbol: value for symbol, value in zip(symbols, worth, strict=True) if value}
    assert held
    assert seen == [held] * len(seen) != []


def test_B06_refusals_at_once_count_until_a_fill(tmp_path: Path) -> None:
    opened = open_session(tmp_path).run(until=FIRST + 2)
    assert opened.session.desk.gate.breakers.rejects == 0
    no = SubmitReport(SubmitOutcome.REJECTED, reason="not today")
    with mock.patch.object(PaperBroker, "submit", return_value=no) as asked:
        opened.run(until=FIRST + 3)
    rejects = opened.session.desk.gate.breakers.rejects
    opened.close()

    assert rejects == asked.call_count > 0


def reject_late(
    self: PaperBroker, at: datetime, symbols: Any, account: Any, bar: Any, terms: Any = None
) -> None:
    """A venue that takes every order and rejects it a moment later."""
    with self._store.transaction():
        for order in self._store.open_orders():
            self._store.set_status(order.client_order_id, OrderStatus.REJECTED)
            self._tell(UpdateKind.REJECTED, order.client_order_id, at)


def test_B06_rejections_after_an_acceptance_trip_the_breaker(tmp_path: Path) -> None:
    limits = replace(WIDEST_SESSION_LIMITS, max_rejects=5)
    opened = open_session(tmp_path, session_limits=limits)
    with mock.patch.object(PaperBroker, "fill_orders", reject_late):
        opened.run(until=FIRST + 6)
    gate = opened.session.desk.gate
    found = Counter(order.status for order in opened.journal.orders(NAME))
    reasons = {(order.reason or "").partition(":")[0] for order in opened.journal.orders(NAME)}
    opened.close()

    assert gate.breakers.rejects == found[OrderStatus.REJECTED] >= 5
    assert Breaker.CONSECUTIVE_REJECTS in list_tripped(gate.breakers, limits)
    assert "CONSECUTIVE_REJECTS" in reasons


def test_B06_rejections_and_fills_count_over_a_restart(tmp_path: Path) -> None:
    opened = open_session(tmp_path).run(until=FIRST + 2)
    with mock.patch.object(PaperBroker, "fill_orders", reject_late):
        killed = mock.patch.object(opened.session.decider, "decide", side_effect=KeyboardInterrupt)
        with killed, pytest.raises(KeyboardInterrupt):  # settled and journaled, no state saved
            opened.run(until=FIRST + 3)
    before = opened.session.desk.gate.breakers
    opened.close()
    again = open_session(tmp_path)
    again.session.resume()
    after = again.session.desk.gate.breakers
    again.close()

    assert before.rejects > 0
    assert after.rejects == before.rejects


def test_fills_that_the_state_counts_are_not_counted_again(tmp_path: Path) -> None:
    """Also where they came between two bars, and the accounts have not booked them."""
    opened = open_session(tmp_path).run(until=FIRST + 2)
    session = opened.session
    killed = mock.patch.object(type(session.desk), "settle", side_effect=KeyboardInterrupt)
    with killed, pytest.raises(KeyboardInterrupt):  # the venue filled; nobody was told
        opened.run()
    opened.close()
    heard = open_session(tmp_path)
    heard.session.resume()
    heard.session.take_over(heard.session.bar.closed_at)
    assert heard.session.unbooked
    heard.session.save()
    before = heard.session.desk.gate.breakers
    heard.close()
    again = open_session(tmp_path)
    again.session.resume()
    after = again.session.desk.gate.breakers
    again.close()

    assert before.trades > 0
    assert (after.trades, after.executions) == (before.trades, before.executions)
    assert after == before
