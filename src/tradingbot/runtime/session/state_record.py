"""What a session saves with every turn: everything that a restart goes on from."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tradingbot.domain.events.session import SessionStateSaved
from tradingbot.domain.plain_values import as_plain_values
from tradingbot.runtime.session.account_record import write_account
from tradingbot.runtime.session.price_basis import write_sent

if TYPE_CHECKING:
    from tradingbot.runtime.session.session import TradingSession


def state_of(session: TradingSession, action: list[float] | None) -> SessionStateSaved:
    """Return everything that a restart needs.

    Args:
        session: At the close of the last bar that is settled, with the breakers before the orders
            of the turn.
        action: N actions that were decided on it; None where nothing was decided, or a split
            followed: what was sent is kept in units after it instead.
    """
    desk, account, bar, basis = session.desk, session.account, session.stand, session.basis
    assert account is not None
    assert bar is not None
    decided_by, next_by = (as_plain_values(each) for each in session.changes)
    kept: dict[str, Any] = {
        "bar": bar.number,
        **write_account(account),
        "action": action,
        "model": decided_by,
        "next_model": next_by,
        "waiting": [fill.fill_id for fill in session.unbooked],
        "n_splits": len(basis.splits),
    }
    if basis.sent_is_rebased and session.sent is not None:
        kept["sent"] = write_sent(session.sent)
    return SessionStateSaved(
        bar.closed_at,
        session.trading_state,
        desk.holdings.cash_ccy,
        Decimal(repr(float(account.equity.sum()))),
        {symbol: each.units for symbol, each in desk.holdings.positions.items() if each.units},
        as_plain_values(desk.gate.breakers),
        kept,
    )
