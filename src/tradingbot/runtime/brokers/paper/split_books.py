"""Splits in the books of the paper broker: positions, open orders and cash, each split once."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import ROUND_DOWN, ROUND_UP, Decimal

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.exact_number import plain_text
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import Side
from tradingbot.runtime.brokers.paper.rows import moment_of, text_of
from tradingbot.runtime.brokers.paper.store import WORKING, PaperStore
from tradingbot.runtime.stock_split import CENT, StockSplit

_OPEN = (
    "SELECT client_order_id, side, units, filled, limit_price, status FROM orders "
    "WHERE symbol = ? AND status IN (?, ?)"
)
_KEPT = "SELECT units, cash, orders FROM splits WHERE symbol = ? AND at = ?"
_CHANGE = "UPDATE orders SET units = ?, limit_price = ?, status = ? WHERE client_order_id = ?"


def split_books(
    store: PaperStore, split: StockSplit, at: datetime, mark: Decimal, step: Decimal
) -> tuple[Decimal, list[str]]:
    """Change what is held and what works of a symbol; a second time: nothing.

    Args:
        store: Books, in a transaction.
        split: Its ratio.
        at: When it takes effect.
        mark: Last price before it.
        step: Least part of a unit that the venue gives; the rest is paid in cash, to the cent.

    Returns:
        What was paid for fractions, and ids of orders of which nothing is left.

    Raises:
        ConfigError: If the symbol was traded since then: in new units already.
    """
    known = store.query(
        "SELECT cash FROM splits WHERE symbol = ? AND at = ?", (split.symbol, text_of(at))
    )
    if known:
        return Decimal(known[0][0]), []
    if any(each.symbol == split.symbol for each in store.fills(at)):
        raise ConfigError(
            "a split must be announced before its symbol is traded in new prices",
            was=f"{split.symbol} {split.numerator}:{split.denominator}, traded since {at:%Y-%m-%d}",
            remedy="Take it out of the file of --splits: units bought since then are new ones",
        )
    held = store.positions().get(split.symbol, Decimal(0))
    whole = split.units(held)
    kept = whole.quantize(step, ROUND_DOWN)
    cash = ((whole - kept) * split.price(mark)).quantize(CENT)
    store.set_units(split.symbol, kept)
    store.add_cash(cash)
    before = store.query(_OPEN, (split.symbol, *WORKING))
    ended = [row[0] for row in before if not _change_order(store, split, row, step)]
    store.query(
        "INSERT INTO splits VALUES (?, ?, ?, ?, ?)",
        (split.symbol, text_of(at), plain_text(held), plain_text(cash), json.dumps(before)),
    )
    return cash, ended


def _change_order(
    store: PaperStore, split: StockSplit, row: tuple[str, ...], step: Decimal
) -> bool:
    """Change what is left of an order; cancelled where that is nothing. Tell whether it works."""
    identity, side, units, filled, limit, status = row
    left = split.units(Decimal(units) - Decimal(filled), step)
    if not left:
        store.set_status(identity, OrderStatus.CANCELLED)
        return False
    price = None if limit is None else plain_text(_on_tick(split.price(Decimal(limit)), side))
    store.query(_CHANGE, (plain_text(Decimal(filled) + left), price, status, identity))
    return True


def _on_tick(price: Decimal, side: str) -> Decimal:
    """Round a limit to what venues take, never to a worse one."""
    tick = CENT if price >= 1 else Decimal("0.0001")
    return max(price.quantize(tick, ROUND_DOWN if side == Side.BUY.value else ROUND_UP), tick)


def list_splits(store: PaperStore) -> list[tuple[str, datetime]]:
    """Return symbol and moment of every split, the newest first."""
    rows = store.query("SELECT symbol, at FROM splits ORDER BY at DESC", ())
    return [(symbol, moment_of(at)) for symbol, at in rows]


def undo_split(store: PaperStore, symbol: str, at: datetime) -> None:
    """Be as before a split; what was filled since then was undone."""
    key = (symbol, text_of(at))
    ((held, cash, orders),) = store.query(_KEPT, key)
    store.set_units(symbol, Decimal(held))
    store.add_cash(-Decimal(cash))
    for identity, _, units, _, limit, status in json.loads(orders):
        store.query(_CHANGE, (units, limit, status, identity))
    store.query("DELETE FROM splits WHERE symbol = ? AND at = ?", key)
