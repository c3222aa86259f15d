"""Cancels of a session: everything that is open, in one request wherever that may be."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from tradingbot.runtime.brokers.protocol import BrokerOrder, SubmitOutcome
from tradingbot.runtime.session.desk import Desk


def cancel_all(desk: Desk, at: datetime, *, keeps_exits: bool = False) -> tuple[int, list[str]]:
    """Ask the venue to cancel every open order, ours or not.

    Args:
        desk: With the venue; approved orders that were not sent are withdrawn.
        at: Now.
        keeps_exits: Leave orders of ours that only make a position smaller.

    Returns:
        How many it took, and ids of those of which that is not known.
    """
    found = desk.broker.open_orders()
    if keeps_exits and any(_is_exit(desk, each) for each in found):
        wanted = (each for each in found if not _is_exit(desk, each))
        n_cancelled, doubtful = _cancel(desk, wanted)
    else:
        left = {each.client_order_id for each in desk.broker.cancel_all()}
        n_cancelled = sum(each.client_order_id not in left for each in found)
        doubtful = sorted(left)
    desk.withdraw_unsent(at)
    return n_cancelled, doubtful


def _is_exit(desk: Desk, found: BrokerOrder) -> bool:
    """Tell whether an open order of ours only makes a position smaller."""
    order = desk.gate.book.orders.get(found.client_order_id)
    return order is not None and order.intent.reduces(desk.holdings.units(found.symbol))


def _cancel(desk: Desk, orders: Iterable[BrokerOrder]) -> tuple[int, list[str]]:
    """Cancel orders one by one; return how many it took, and ids of those in doubt."""
    reports = {each.client_order_id: desk.broker.cancel(each.client_order_id) for each in orders}
    outcomes = [each.outcome for each in reports.values()]
    doubtful = [key for key, each in reports.items() if each.outcome is SubmitOutcome.UNKNOWN]
    return outcomes.count(SubmitOutcome.ACCEPTED), doubtful
