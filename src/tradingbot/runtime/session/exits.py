"""What a kill sells: an order for every open position, judged as any, until nothing is held.

The venue is asked once for all of them. What the source of prices cannot say keeps no exit from
leaving: it only reduces. An exit that the gate denies is told, and tried again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from itertools import count

import numpy as np

from tradingbot.domain.errors import BrokerUnavailableError, UserError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import AlertLevel, AlertRaised
from tradingbot.domain.events.trading import OrderDenied, OrderSubmitted
from tradingbot.domain.exact_number import MAX_DECIMALS
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import OrderIntent, Side
from tradingbot.domain.trading_state import TradingState
from tradingbot.runtime.approval import Approval
from tradingbot.runtime.breaker import forget_approvals
from tradingbot.runtime.session.desk import Desk
from tradingbot.runtime.session.desk_events import ending_of
from tradingbot.runtime.session.judging import judge_order
from tradingbot.runtime.session.pending_exits import NOT_TRADED, rule_of
from tradingbot.runtime.session.session import TradingSession
from tradingbot.runtime.session.unclosed import LEFT
from tradingbot.runtime.session.venue_facts import ask_venue

EXITS_DENIED, EXITS_OUT, EXITS_LEFT = "EXITS_DENIED", "EXITS_OUT", "EXITS_LEFT"
"""Codes: a kill cannot close positions yet; it has closed all; it is not tried any more."""
_STEP = Decimal(1).scaleb(-MAX_DECIMALS)


def close_positions(session: TradingSession, at: datetime) -> dict[str, str]:
    """Send an order for what no exit closes already of a position, through the gate as any.

    Kill switch and restriction are off while exits are judged: the caller presses the switch again,
    and the journal never holds it otherwise.

    Returns:
        How many orders were sent, how many denied, and why each.

    Raises:
        BrokerUnavailableError: If the venue did not take all of them; what was not sent may be
            asked for again.
    """
    desk, pending = session.desk, session.exits
    _repeat(session, at)
    drift = _take_over(session, at)
    before, known = pending.denied, desk.gate.breakers
    pending.denied = {}
    reducing = TradingState.REDUCING
    desk.gate.breakers = replace(known, kill_reason=None, trading_state=reducing)
    try:
        approvals, events = _judge(session, _list_exits(session, drift), at, before)
    finally:
        own, counted = (known.kill_reason, known.trading_state), desk.gate.breakers
        desk.gate.breakers = replace(counted, kill_reason=own[0], trading_state=own[1])
    if desk.record(*events):
        desk.send(approvals, at)
    else:
        desk.withdraw_unsent(at)
    orders = [desk.gate.book.orders[each.intent.client_order_id] for each in approvals]
    unsent = [each.intent.content_key for each in orders if each.status is OrderStatus.CANCELLED]
    desk.gate.breakers = forget_approvals(desk.gate.breakers, unsent)
    _tell(session, at)
    n_open = len(unsent) + sum(each.status is OrderStatus.SUBMITTED for each in orders)
    if n_open and not desk.journal_is_down:
        rule = "the venue must take orders that close positions"
        raise BrokerUnavailableError(rule, was=f"{n_open} not taken", where=desk.session)
    left = {f"{LEFT}{symbol}": words for symbol, words in sorted(pending.denied.items())}
    return {"exits": str(len(approvals)), "exits_denied": str(len(left)), **left}


def _repeat(session: TradingSession, at: datetime) -> None:
    """Send exits of an earlier attempt again whose answers were lost, each under its own id."""
    desk, gate = session.desk, session.desk.gate
    doubtful = [
        gate.approve_again(order.client_order_id)
        for order in gate.book.working()
        if order.status is OrderStatus.SUBMITTED
        and order.intent.reduces(desk.holdings.units(order.intent.symbol))
    ]
    if doubtful:
        desk.send(doubtful, at, again=True)


def _take_over(session: TradingSession, at: datetime) -> Mapping[str, Decimal]:
    """Book what the venue did.

    Returns:
        Where that cannot be told, e.g. no splits: symbols whose units differ from the venue's. The
        others are held as they are booked.

    Raises:
        BrokerUnavailableError: If the venue does not say what it holds.
    """
    desk = session.desk
    try:
        session.take_over(at)
    except BrokerUnavailableError:
        drift = desk.holdings.find_drift(desk.broker.positions())
        _end_cancelled(desk, drift, at)
        return drift
    return {}


def _end_cancelled(desk: Desk, drift: Mapping[str, Decimal], at: datetime) -> None:
    """Know what was cancelled just now of symbols that agree: it is in no exit's way any more."""
    book = desk.gate.book
    ids = [each.client_order_id for each in book.working() if each.intent.symbol not in drift]
    for found in desk.broker.find_orders(ids).values():
        book.adopt(found)
    ends = [ending_of(book.orders[each], at) for each in ids]
    ended = [each for each in ends if each is not None]
    desk.count(ended)
    desk.record(*ended)


def _list_exits(
    session: TradingSession, drift: Mapping[str, Decimal]
) -> list[tuple[str, Side, Decimal]]:
    """Return symbol, side and units of every exit; what cannot be asked for counts as denied."""
    desk, denied = session.desk, session.exits.denied
    wanted: list[tuple[str, Side, Decimal]] = []
    for symbol, position in desk.holdings.positions.items():
        if position.is_flat:
            continue
        if symbol not in session.symbols:  # a trade by hand; the session has no price of it
            denied[symbol] = f"{NOT_TRADED}: {position.units:f} units; close them at the venue"
            continue
        if symbol in drift:
            denied[symbol] = f"POSITION_DRIFT: limit=0 observed={drift[symbol]:f}"
            continue
        side = Side.SELL if position.units > 0 else Side.BUY
        under_way = desk.gate.book.working_units(symbol, side)
        units = (abs(position.units) - under_way).quantize(_STEP)
        if units > 0:
            wanted.append((symbol, side, units))
    return wanted


def _judge(
    session: TradingSession,
    wanted: Sequence[tuple[str, Side, Decimal]],
    at: datetime,
    before: Mapping[str, str],
) -> tuple[list[Approval], list[Event]]:
    """Put exits before the gate.

    Args:
        session: That holds them.
        wanted: Symbol, side and units of each.
        at: Now.
        before: Symbol → why the attempt before was denied: told once while the rule is the same.
    """
    approvals: list[Approval] = []
    events: list[Event] = []
    if not wanted:
        return approvals, events
    assert session.account is not None
    desk, pending, symbols = session.desk, session.exits, [symbol for symbol, _, _ in wanted]
    last = dict(zip(session.symbols, session.facts.last.tolist(), strict=True))
    closes = {each: last[each] for each in symbols if np.isfinite(last[each])}
    asked = ask_venue(desk, session.clock_at(at), symbols, closes=closes)
    facts, moment = (session.facts, asked), session.moment(at)
    try:
        for symbol, side, units in wanted:
            intent = _intent_of(session, symbol, side, units)
            lane = session.symbols.index(symbol)
            account = session.account
            verdict = judge_order(desk, lane, intent, session.symbols, account, facts, moment)
            if isinstance(verdict, Approval):
                approvals.append(verdict)
                events.append(OrderSubmitted(intent, at))
                continue
            pending.denied[symbol] = verdict.words
            if rule_of(before.get(symbol, "")) != rule_of(verdict.words):
                events.append(OrderDenied(intent, verdict.words))
                pending.used_ids.add(intent.client_order_id)
    except BaseException:
        # What was approved was not sent, and may be asked for again at once.
        for each in approvals:
            desk.gate.book.move(each.intent.client_order_id, OrderStatus.CANCELLED)
        keys = [each.intent.content_key for each in approvals]
        desk.gate.breakers = forget_approvals(desk.gate.breakers, keys)
        raise
    return approvals, events


def _intent_of(session: TradingSession, symbol: str, side: Side, units: Decimal) -> OrderIntent:
    """Return an exit under the next id that no order and no journaled denial has."""
    assert session.bar is not None
    asked = (symbol, side, units, session.bar.closed_at, session.model.sha256)
    intents = (OrderIntent(*asked, sequence=k, confidence=1.0) for k in count(1))
    known, used = session.desk.gate.book.orders, session.exits.used_ids
    ids = (each for each in intents if each.client_order_id not in known)
    return next(each for each in ids if each.client_order_id not in used)


def _tell(session: TradingSession, at: datetime) -> None:
    """Raise the alert of what is denied, once while it is the same; and one when all are out."""
    pending = session.exits
    _recall(session)
    if not pending.denied:
        if pending.told is not None:
            told = "no position is left that a kill could not close"
            session.desk.keep(AlertRaised(at, AlertLevel.INFO, EXITS_OUT, told))
        pending.clear()
        return
    then = (
        "they are tried again until they pass; `paper arm` takes the kill back"
        if pending.waits
        else "no later price lets them pass: close them at the venue"
    )
    text = f"positions that a kill could not close: {pending.words}; {then}"
    alert = AlertRaised(at, AlertLevel.CRITICAL, EXITS_DENIED, text)
    if text != pending.told and session.desk.keep(alert):
        pending.told = text


def _recall(session: TradingSession) -> None:
    """Know what an earlier process told: a restart tells nothing twice."""
    pending, desk = session.exits, session.desk
    if pending.has_recalled:
        return
    with suppress(UserError):  # a journal that cannot be read: it is told again
        for alert in desk.journal.events(desk.session, AlertRaised):
            if isinstance(alert, AlertRaised) and alert.code.startswith("EXITS_"):
                pending.told = alert.text if alert.code == EXITS_DENIED else None
        pending.has_recalled = True


def give_up(session: TradingSession, at: datetime, level: AlertLevel, why: str) -> None:
    """Tell what a kill leaves open, and try it no more."""
    text = f"{why}; positions that a kill could not close: {session.exits.words}"
    session.desk.keep(AlertRaised(at, level, EXITS_LEFT, text))
    session.exits.clear()
