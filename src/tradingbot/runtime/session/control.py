"""What persons may do to a session: stop, kill, restrict, arm it again. Each act is journaled."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from decimal import Decimal

from tradingbot.domain.errors import BrokerUnavailableError, TradingError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import ActAudited, ModelLoaded
from tradingbot.domain.events.trading import StockSplitApplied, TradingStateChanged
from tradingbot.domain.trading_state import TradingState, TradingStateChange
from tradingbot.runtime.breaker import Breaker, list_tripped, set_trading_state
from tradingbot.runtime.rearm import rearm_breaker, require_authorised
from tradingbot.runtime.session.cancels import cancel_all
from tradingbot.runtime.session.exits import close_positions
from tradingbot.runtime.session.folder import Request
from tradingbot.runtime.session.model_change import change_model
from tradingbot.runtime.session.pending_exits import ExitsDeniedError
from tradingbot.runtime.session.session import TradingSession
from tradingbot.runtime.stock_split import split_of

ADOPT = "adopt"
NO_REASON = "no reason was given"


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
    elif request.act == "restrict":
        restrict(session, request, at)
    elif request.act == "swap":
        swap(session, request, at)
    else:
        with suppress(BrokerUnavailableError):  # what it did is read when the session goes on
            session.take_over(at)
        session.save(ActAudited(at, "stop", request.by, request.reason))
        return False
    return True


def kill(session: TradingSession, request: Request, at: datetime) -> None:
    """Cancel everything, sell what is held where that is asked for, and halt; it stays halted.

    It needs no reason, and no turn before it. Asked again it goes on where it broke off: what was
    not sold yet is sold, also by a session that is halted.

    Raises:
        BrokerUnavailableError: If the venue could not be told, or did not answer a cancel. The
            session is halted all the same.
        ExitsDeniedError: If the gate denied exits that it may allow later. So it is here.
    """
    desk, before = session.desk, session.trading_state
    cancelled: int | str = "the venue could not be asked"
    said = request.reason.strip() or NO_REASON
    reason = desk.gate.breakers.kill_reason or said
    details = {"flatten": str(request.flatten).lower()}
    try:
        n_cancelled, doubtful = cancel_all(desk, at, keeps_exits=request.flatten)
        if session.account is not None:
            if request.flatten:
                details |= close_positions(session, at)
            else:
                session.take_over(at)
        if doubtful:
            rule, was = "cancels must be answered by the venue", f"no answer to {len(doubtful)}"
            raise BrokerUnavailableError(rule, was=was, where=", ".join(doubtful[:5]))
        cancelled = n_cancelled
    finally:
        desk.gate.press_kill_switch(reason)
        details["cancelled"] = str(cancelled)
        events: list[Event] = [ActAudited(at, "kill", request.by, said, details)]
        if before is not TradingState.HALTED:
            change = TradingStateChange(before, TradingState.HALTED, said)
            events.append(TradingStateChanged(change, at))
        # Attempts that change nothing are not journaled: there may be one every minute.
        is_news = not request.flatten or session.exits.is_news(int(details.get("exits", "0")))
        is_done = isinstance(cancelled, int) and is_news
        if (before is not TradingState.HALTED or is_done) and session.save(*events):
            session.exits.note_journaled()
    if request.flatten and session.exits.waits:
        rule = "the gate must let exits pass"
        raise ExitsDeniedError(rule, was=session.exits.words, where=desk.session)


def restrict(session: TradingSession, request: Request, at: datetime) -> None:
    """Let a session only reduce, or send nothing; open orders stay. An arming takes it back.

    Raises:
        TradingError: If that would loosen it, or no reason is given.
    """
    gate, before = session.desk.gate, session.trading_state
    to = TradingState(request.state or TradingState.HALTED)
    gate.breakers = set_trading_state(gate.breakers, to, reason=request.reason)
    act = ActAudited(at, "restrict", request.by, request.reason, {"state": to.value})
    session.save(act, *_change(before, session.trading_state, request, at))


def _change(
    before: TradingState, after: TradingState, request: Request, at: datetime
) -> list[Event]:
    """Return the event of a state that an act changed; none where it did not."""
    if after is before:
        return []
    change = TradingStateChange(before, after, request.reason, request.by)
    return [TradingStateChanged(change, at)]


def swap(session: TradingSession, request: Request, at: datetime) -> None:
    """Decide by another model from the next bar on.

    Raises:
        UserError: If it cannot be opened, or is for other symbols.
    """
    if request.model is None:
        raise TradingError("a swap must name a model", was="none", where=session.desk.session)
    before = session.model.sha256
    change_model(session, request.model)
    after = session.model.sha256
    standing = {"standing": request.standing} if request.standing else {}
    details = {"from": before, "to": after, "bundle": request.model.path, **standing}
    session.save(
        ActAudited(at, "swap", request.by, request.reason, details),
        ModelLoaded(
            at, after, verdict=request.verdict, details={"bundle": request.model.path, **standing}
        ),
    )


def adopt(session: TradingSession, by: str, at: datetime) -> dict[str, Decimal]:
    """Know every unit at the venue that is not the session's as external, by a person's word.

    They are never sold or counted; the session trades beside them.
    """
    holdings = session.desk.holdings
    drift = holdings.find_drift(session.desk.broker.positions())
    units = {symbol: -each for symbol, each in drift.items()}
    if units:
        details = {symbol: str(each) for symbol, each in units.items()}
        if not session.desk.record(ActAudited(at, ADOPT, by, "positions made outside", details)):
            rule = "the journal must hold what is adopted"
            raise TradingError(rule, was="not confirmed", where=session.desk.session)
        holdings.adopt(units)
    return units


def recall_adopted(session: TradingSession) -> None:
    """Know again what was adopted before a restart, as splits since then left it."""
    desk = session.desk
    for event in desk.journal.events(desk.session, ActAudited, StockSplitApplied):
        if isinstance(event, StockSplitApplied):
            desk.holdings.split_external(split_of(event))
        elif isinstance(event, ActAudited) and event.act == ADOPT:
            desk.holdings.adopt({symbol: Decimal(text) for symbol, text in event.details.items()})


def arm(
    session: TradingSession, request: Request, at: datetime, authorised: frozenset[str]
) -> None:
    """Arm breakers again that tripped, and end a restriction, under a name and with a reason.

    Raises:
        TradingError: If the name may not, no reason is given, or nothing has tripped.
    """
    gate, before = session.desk.gate, session.trading_state
    assert gate.session_limits is not None
    tripped = list_tripped(gate.breakers, gate.session_limits)
    chosen = tripped if request.breaker is None else (Breaker(request.breaker),)
    if not chosen and gate.breakers.trading_state is TradingState.ACTIVE:
        rule = "something must have tripped to be armed again"
        raise TradingError(rule, was="nothing", where=session.desk.session)
    for breaker in chosen:
        gate.breakers = rearm_breaker(
            gate.breakers, breaker, by=request.by, reason=request.reason, authorised=authorised
        )
    details = {"breakers": ", ".join(chosen)}
    if request.breaker is None and gate.breakers.trading_state is not TradingState.ACTIVE:
        require_authorised("arming", request.by, request.reason, authorised)
        details["state"] = TradingState.ACTIVE.value
        gate.breakers = set_trading_state(
            gate.breakers, TradingState.ACTIVE, reason=request.reason, authorised_by=request.by
        )
    act = ActAudited(at, "arm", request.by, request.reason, details)
    session.save(act, *_change(before, session.trading_state, request, at))
