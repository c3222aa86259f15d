"""A session after a stop or a kill: its last turn, decided again from the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tradingbot.domain.errors import TradingError
from tradingbot.domain.events.session import AlertRaised, SessionStateSaved
from tradingbot.domain.events.trading import (
    OrderFilled,
    OrderRejected,
    PositionChange,
    StockSplitApplied,
)
from tradingbot.domain.order import Order, OrderStatus
from tradingbot.runtime.approval import Approval
from tradingbot.runtime.session.account_record import read_account
from tradingbot.runtime.session.breaker_record import recall_breakers
from tradingbot.runtime.session.decision import require_same_action
from tradingbot.runtime.session.desk_events import booking_of
from tradingbot.runtime.session.model import read_reference
from tradingbot.runtime.session.model_change import change_model
from tradingbot.runtime.session.price_basis import read_sent
from tradingbot.runtime.session.settlement import repeat_verdicts, send_nothing

if TYPE_CHECKING:
    from tradingbot.runtime.session.session import TradingSession


def resume_turn(session: TradingSession, *, sends: bool, now: datetime | None) -> bool:
    """Go on from the last turn that the journal holds; False where it holds none.

    Bars up to it are streamed again. Orders of that turn are decided again, to the same bits. Those
    that the journal has no end and no answer of are looked up at the venue; what it does not know
    is judged again and sent. What was denied, rejected or withdrawn stays so.

    Args:
        session: New.
        sends: Whether it is; else it is left to expire.
        now: Time of the session; the close of that turn's bar by default. Where that is not fresh
            any more, nothing is sent.

    Raises:
        TradingError: If the turn does not come out as it is journaled.
        BrokerUnavailableError: If the venue cannot be asked.
    """
    desk, journal = session.desk, session.desk.journal
    splits = journal.events(desk.session, StockSplitApplied)
    session.basis.splits = [each for each in splits if isinstance(each, StockSplitApplied)]
    found = journal.newest(desk.session, limit=1, kind=SessionStateSaved)
    state = found[-1].event if found else None
    if not isinstance(state, SessionStateSaved):
        desk.gate.breakers = recall_breakers(desk.journal, desk.session, None)
        return False
    kept = state.account
    last = int(kept["bar"])
    decided_by, next_by = (read_reference(kept.get(key)) for key in ("model", "next_model"))
    if decided_by is not None:
        change_model(session, decided_by)
    for bar in session.source.known_bars(last):
        session.look(bar)
    if session.bar is None or session.bar.number != last or session.bar.closed_at != state.at:
        rule = "the bars must be those that the session has seen"
        was = "none" if session.bar is None else session.bar.closed_at
        raise TradingError(rule, was=was, where=f"bar {last}, {state.at}")
    session.account = read_account(kept)
    desk.gate.breakers = recall_breakers(desk.journal, desk.session, state)
    journaled = desk.journal.order_book(desk.session)
    changes = desk.journal.position_changes(desk.session)
    later = desk.journal.position_changes(desk.session, after=found[-1].seq)
    n_counted = len(changes) - len(later)
    n_booked = _count_booked(changes[:n_counted], kept)
    turn = [each for each in journaled.orders.values() if each.intent.decided_at == state.at]
    before = [each for each in journaled.orders.values() if each not in turn]
    desk.restore(before, journaled.busted, changes[:n_booked])
    _recall(session, turn, found[-1].seq, is_rebased="sent" in kept)
    session.stand = session.bar
    if "sent" in kept:
        session.sent, session.basis.sent_is_rebased = read_sent(kept["sent"]), True
    elif kept["action"] is None:
        session.sent = send_nothing(session.account)
    else:
        now = now or session.bar.closed_at
        _repeat(session, kept["action"], turn, now, sends=sends and session.is_fresh(now))
    for each in turn:  # what is not approved any more may have arrived before
        if each.client_order_id not in desk.gate.book.orders:
            desk.gate.book.add(each)
    session.changes = (decided_by, decided_by)
    if next_by is not None and next_by != decided_by:
        change_model(session, next_by)
    session.unbooked = list(desk.rebook(changes[n_booked:]))
    return True


def _recall(session: TradingSession, turn: Sequence[Order], seq: int, *, is_rebased: bool) -> None:
    """Know what became of the orders of a turn, and count what was journaled after its state.

    One that a split followed was saved with its orders counted: they are known in new units.
    """
    assert session.account is not None
    desk = session.desk
    for each in turn:
        mark = float(session.account.mark[session.symbols.index(each.intent.symbol)])
        if is_rebased:
            desk.gate.book.add(each)
            desk.gate.prices[each.client_order_id] = mark
        elif each.status is not OrderStatus.SUBMITTED:
            desk.gate.recall(each, mark)
    kinds = (OrderFilled, OrderRejected, AlertRaised)
    desk.count(desk.journal.events(desk.session, *kinds, after=seq))


def _count_booked(changes: Sequence[PositionChange], kept: Mapping[str, Any]) -> int:
    """Return how many fills and busts the saved accounts hold; those that wait came last.

    Args:
        changes: Journaled before the state was.
        kept: The state. One without `waiting` counted fills, without those taken back.
    """
    if "waiting" not in kept:
        n_fills = int(kept["n_fills"])
        return len(changes) - (int(kept.get("n_counted", n_fills)) - n_fills)
    bookings, waiting = map(booking_of, changes), set(kept["waiting"])
    places = (k for k, each in enumerate(bookings) if each and each.fill_id in waiting)
    return next(places, len(changes))


def _repeat(
    session: TradingSession,
    action: list[float],
    turn: Sequence[Order],
    now: datetime,
    *,
    sends: bool,
) -> None:
    """Decide the last turn again, and send what did not arrive."""
    assert session.account is not None
    assert session.bar is not None
    proposal = session.decider.decide(session.account)
    require_same_action(session.symbols, proposal, action, session.bar.closed_at)
    session.action = action
    approvals: Sequence[Approval] = ()
    if sends:  # else its time has passed: nothing is asked for again
        approvals = session.judge(session.bar, proposal, now).approvals
    sent = session.decider.order(session.account, proposal)
    # Exits of a kill have numbers from 1 on: the accounts' own orders do not follow from them.
    decided = [each for each in turn if not each.intent.sequence]
    session.sent = repeat_verdicts(sent, session.symbols, decided)
    known = {each.client_order_id for each in turn}
    fresh = [each for each in approvals if each.intent.client_order_id in known]
    session.desk.send(fresh, now, again=True, goes_on=lambda: session.may_send(now))
