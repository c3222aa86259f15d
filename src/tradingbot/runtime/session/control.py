"""What persons may do to a session: stop it, kill it, arm it again. Each act is journaled."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import ActAudited
from tradingbot.domain.events.trading import OrderDenied, OrderSubmitted, TradingStateChanged
from tradingbot.domain.exact_number import MAX_DECIMALS
from tradingbot.domain.order_intent import OrderIntent, Side
from tradingbot.domain.trading_state import TradingState, TradingStateChange
from tradingbot.runtime.approval import Approval
from tradingbot.runtime.breaker import Breaker, list_tripped
from tradingbot.runtime.rearm import rearm_breaker
from tradingbot.runtime.session.folder import Request
from tradingbot.runtime.session.session import TradingSession

_STEP = Decimal(1).scaleb(-MAX_DECIMALS)


def apply_request(
    session: TradingSession, request: Request, at: datetime, authorised: frozenset[str]
) -> bool:
    """Do what a person asks; tell whether the session goes on.

    Raises:
        TradingError: If the person may not.
    """
    if request.act == "kill":
        kill(session, request, at)
    elif request.act == "arm":
        arm(session, request, at, authorised)
    else:
        session.save(ActAudited(at, "stop", request.by, request.reason))
        return False
    return True


def kill(session: TradingSession, request: Request, at: datetime) -> None:
    """Cancel everything, sell what is held where that is asked for, and halt; it stays halted."""
    desk = session.desk
    before = session.trading_state
    cancelled = desk.cancel_all(at, keeps_exits=request.flatten)
    if session.account is not None:
        session.take_over(at)
        if request.flatten:
            _flatten(session, at)
    desk.gate.press_kill_switch(request.reason)
    details = {"cancelled": str(cancelled), "flatten": str(request.flatten).lower()}
    change = TradingStateChange(before, TradingState.HALTED, request.reason)
    session.save(
        ActAudited(at, "kill", request.by, request.reason, details), TradingStateChanged(change, at)
    )


def arm(
    session: TradingSession, request: Request, at: datetime, authorised: frozenset[str]
) -> None:
    """Arm breakers again that tripped, under a name and with a reason.

    Raises:
        TradingError: If the name may not, or no reason is given.
    """
    gate, before = session.desk.gate, session.trading_state
    assert gate.session_limits is not None
    tripped = list_tripped(gate.breakers, gate.session_limits)
    chosen = tripped if request.breaker is None else (Breaker(request.breaker),)
    for breaker in chosen:
        gate.breakers = rearm_breaker(
            gate.breakers, breaker, by=request.by, reason=request.reason, authorised=authorised
        )
    details = {"breakers": ", ".join(chosen)}
    events: list[Event] = [ActAudited(at, "arm", request.by, request.reason, details)]
    after = session.trading_state
    if after is not before:
        change = TradingStateChange(before, after, request.reason, request.by)
        events.append(TradingStateChanged(change, at))
    session.save(*events)


def _flatten(session: TradingSession, at: datetime) -> None:
    """Send an order for what no exit closes already of a position, through the gate as any."""
    approvals: list[Approval] = []
    events: list[Event] = []
    for symbol, position in session.desk.holdings.positions.items():
        side = Side.SELL if position.units > 0 else Side.BUY
        under_way = session.desk.gate.book.working_units(symbol, side)
        units = (abs(position.units) - under_way).quantize(_STEP)
        if units <= 0:
            continue
        assert session.bar is not None
        intent = OrderIntent(
            symbol,
            side,
            units,
            session.bar.closed_at,
            session.model.sha256,
            sequence=1,
            confidence=1.0,
        )
        verdict = session.judge_one(intent, at)
        if isinstance(verdict, Approval):
            approvals.append(verdict)
            events.append(OrderSubmitted(intent, at))
        else:
            events.append(OrderDenied(intent, verdict.words))
    if session.desk.record(*events):
        session.desk.send(approvals, at)
    else:
        session.desk.withdraw_unsent(at)
