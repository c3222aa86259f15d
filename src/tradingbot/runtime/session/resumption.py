"""A session after a stop or a kill: its last turn, decided again from the journal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from tradingbot.domain.errors import TradingError
from tradingbot.domain.order import Order, OrderStatus
from tradingbot.runtime.approval import Approval
from tradingbot.runtime.breaker import read_breakers
from tradingbot.runtime.session.account_record import read_account
from tradingbot.runtime.session.decision import require_same_action
from tradingbot.runtime.session.model import read_reference
from tradingbot.runtime.session.settlement import keep_orders, send_nothing

if TYPE_CHECKING:
    from tradingbot.runtime.session.session import TradingSession


def resume_turn(session: TradingSession, *, sends: bool, now: datetime | None) -> bool:
    """Go on from the last turn that the journal holds; False where it holds none.

    Bars up to it are streamed again. Orders of that turn are decided again, to the same bits; what
    the venue knows of them is taken over, what it does not know is sent.

    Args:
        session: New.
        sends: Whether it is; else it is left to expire.
        now: Time of the session; the close of that turn's bar by default. Where that is not fresh
            any more, nothing is sent.

    Raises:
        TradingError: If the turn does not come out as it is journaled.
        BrokerUnavailableError: If the venue cannot be asked.
    """
    desk = session.desk
    state = desk.journal.state(desk.session)
    if state is None:
        return False
    kept = state.account
    last = int(kept["bar"])
    decided_by, next_by = (read_reference(kept.get(key)) for key in ("model", "next_model"))
    if decided_by is not None:
        session.change_model(decided_by)
    for bar in session.source.known_bars(last):
        session.look(bar)
    if session.bar is None or session.bar.number != last or session.bar.closed_at != state.at:
        rule = "the bars must be those that the session has seen"
        was = "none" if session.bar is None else session.bar.closed_at
        raise TradingError(rule, was=was, where=f"bar {last}, {state.at}")
    session.account = read_account(kept["fields"])
    desk.gate.breakers = read_breakers(state.breakers)
    journaled = desk.journal.order_book(desk.session)
    orders, fills = list(journaled.orders.values()), list(journaled.fills.values())
    n_booked = int(kept["n_fills"])
    turn = [each for each in orders if each.intent.decided_at == state.at]
    desk.restore([each for each in orders if each not in turn], fills[:n_booked])
    if kept["action"] is None:
        session.sent = send_nothing(session.account)
    else:
        now = now or session.bar.closed_at
        _repeat(session, kept["action"], turn, now, sends=sends and session.is_fresh(now))
    session.changes = (decided_by, decided_by)
    if next_by is not None and next_by != decided_by:
        session.change_model(next_by)
    n_counted = int(kept.get("n_counted", n_booked)) - n_booked
    session.unbooked = list(desk.rebook(fills[n_booked:], n_counted=n_counted))
    return True


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
    book, session.action = session.desk.gate.book, action
    approvals: Sequence[Approval] = ()
    if sends:
        judged = session.judge(session.bar, proposal, now)
        session.sent, approvals = judged.sent, judged.approvals
    else:  # its time has passed: nothing is asked for again
        sold = {each.intent.symbol for each in turn if each.status is not OrderStatus.DENIED}
        sent = session.decider.order(session.account, proposal.action)
        session.sent = keep_orders(sent, [symbol in sold for symbol in session.symbols])
    for each in turn:  # what is not approved any more may have arrived before
        if each.client_order_id not in book.orders:
            book.add(each)
    known = {each.client_order_id for each in turn}
    fresh = [each for each in approvals if each.intent.client_order_id in known]
    session.desk.send(fresh, now, again=True)
