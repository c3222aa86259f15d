"""The books of the built-in paper broker: one SQLite file of its own, written like a venue's.

Every change is one transaction that is on the disk when it returns, so that a trader that is killed
at any moment finds the venue as it left it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from tradingbot.domain.errors import StorageError
from tradingbot.domain.exact_number import plain_text
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import OrderIntent, Side
from tradingbot.domain.position import Fill
from tradingbot.runtime.brokers.paper.rows import (
    WorkingOrder,
    moment_of,
    read_fill,
    read_order,
    text_of,
)
from tradingbot.runtime.brokers.paper.tables import (
    FILL_BY_ID,
    FILLS_OF_ORDER,
    FILLS_SINCE,
    FORGET_FILL,
    FORGET_ORDER,
    FORMAT,
    NEXT_FILL,
    OPEN_ORDERS,
    ORDER_BY_ID,
    SCHEMA,
)
from tradingbot.runtime.brokers.protocol import BrokerOrder, BrokerUpdate, UpdateKind

WORKING = (OrderStatus.ACCEPTED, OrderStatus.PARTIALLY_FILLED)
"""What may still fill."""


class PaperStore:
    """Orders, fills, positions, cash and messages of the paper broker.

    Raises:
        StorageError: If the file is none of these, or of a newer version.
    """

    def __init__(self, path: Path, cash_ccy: Decimal, *, synchronous: str = "FULL") -> None:
        self.path = path
        try:
            self._database = sqlite3.connect(path, isolation_level=None)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute(f"PRAGMA synchronous={synchronous}")
            with self.transaction():
                for statement in SCHEMA.split(";"):
                    self._database.execute(statement)
                self._database.executemany(
                    "INSERT OR IGNORE INTO venue VALUES (?, ?)",
                    [("format", str(FORMAT)), ("cash", plain_text(cash_ccy))],
                )
            found = int(self._value("format"))
        except (sqlite3.Error, ValueError, OSError) as error:
            rule = "the paper broker's file must be readable"
            raise StorageError(rule, was=error, where=str(path)) from error
        if found > FORMAT:
            rule = f"the paper broker's file must have format {FORMAT} at most"
            raise StorageError(rule, was=found, where=str(path), remedy="Use a newer version")

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do all of it, on the disk when it ends, or nothing."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    @property
    def cash_ccy(self) -> Decimal:
        """Cash of the account, exact."""
        return Decimal(self._value("cash"))

    def add_cash(self, amount_ccy: Decimal) -> None:
        """Credit or debit the account."""
        total = plain_text(self.cash_ccy + amount_ccy)
        self._database.execute("UPDATE venue SET value = ? WHERE name = 'cash'", (total,))

    def query(self, statement: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        """Carry out a statement of a part of the books that has a file of its own."""
        return self._database.execute(statement, values).fetchall()

    def positions(self) -> dict[str, Decimal]:
        """Return symbol → signed units; flat symbols are left out."""
        rows = self._database.execute("SELECT symbol, units FROM positions ORDER BY symbol")
        return {symbol: Decimal(units) for symbol, units in rows if Decimal(units)}

    def add_order(self, intent: OrderIntent, at: datetime, eligible_at: datetime) -> None:
        """Keep a new order as accepted."""
        limit = None if intent.limit_price is None else plain_text(intent.limit_price)
        self._database.execute(
            "INSERT INTO orders VALUES (?, (SELECT COUNT(*) FROM orders), ?, ?, ?, '0', '0', ?, ?,"
            " ?, ?, ?, ?)",
            (
                intent.client_order_id,
                intent.symbol,
                intent.side.value,
                plain_text(intent.quantity_units),
                limit,
                intent.time_in_force.value,
                OrderStatus.ACCEPTED.value,
                text_of(at),
                text_of(eligible_at),
                intent.content_key,
            ),
        )

    def find_content(self, client_order_id: str) -> str | None:
        """Return what an order asked for; None where there is none of that id."""
        asked = "SELECT content FROM orders WHERE client_order_id = ?"
        return next((str(row[0]) for row in self.query(asked, (client_order_id,))), None)

    def find_order(self, client_order_id: str) -> BrokerOrder | None:
        """Return an order as protocols have it."""
        return next(self._orders(ORDER_BY_ID, (client_order_id,)), None)

    def open_orders(self) -> tuple[BrokerOrder, ...]:
        """Return every order that may still fill, in the order of sending."""
        return tuple(self._orders(OPEN_ORDERS, WORKING))

    def working_orders(self, at: datetime) -> list[WorkingOrder]:
        """Return orders that may fill at a moment, in the order of sending."""
        rows = self._database.execute(
            "SELECT client_order_id, symbol, side, units, filled, limit_price, time_in_force "
            "FROM orders WHERE status IN (?, ?) AND eligible_at <= ? ORDER BY number",
            (*WORKING, text_of(at)),
        )
        return [
            WorkingOrder(
                order_id,
                symbol,
                Side(side),
                Decimal(units) - Decimal(filled),
                None if limit is None else Decimal(limit),
                lapses=in_force != "gtc",
            )
            for order_id, symbol, side, units, filled, limit, in_force in rows
        ]

    def set_status(self, client_order_id: str, status: OrderStatus) -> None:
        """Move an order."""
        self._database.execute(
            "UPDATE orders SET status = ? WHERE client_order_id = ?",
            (status.value, client_order_id),
        )

    def add_fill(
        self, order: WorkingOrder, units: Decimal, price: Decimal, fee: Decimal, at: datetime
    ) -> Fill:
        """Book an execution: fill, order, position and cash."""
        (number,) = self._database.execute(NEXT_FILL).fetchone()
        fill = Fill(
            f"{order.client_order_id}.{number}",
            order.client_order_id,
            order.symbol,
            order.side,
            units,
            price,
            at,
            fee_ccy=fee,
        )
        self._database.execute(
            "INSERT INTO fills VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                fill.fill_id,
                number,
                fill.client_order_id,
                fill.symbol,
                fill.side.value,
                plain_text(units),
                plain_text(price),
                text_of(at),
                plain_text(fee),
            ),
        )
        asked, filled, spent = self._database.execute(
            "SELECT units, filled, spent FROM orders WHERE client_order_id = ?",
            (order.client_order_id,),
        ).fetchone()
        total = Decimal(filled) + units
        status = OrderStatus.FILLED if total == Decimal(asked) else OrderStatus.PARTIALLY_FILLED
        value = plain_text(Decimal(spent) + fill.notional_ccy)
        self._database.execute(
            "UPDATE orders SET filled = ?, spent = ?, status = ? WHERE client_order_id = ?",
            (plain_text(total), value, status.value, order.client_order_id),
        )
        self._move(order.symbol, fill.signed_units)
        self.add_cash(-fill.signed_units * price - fee)
        return fill

    def order_ids(self) -> tuple[str, ...]:
        """Return the id of every order that ever was."""
        rows = self._database.execute("SELECT client_order_id FROM orders ORDER BY number")
        return tuple(row[0] for row in rows)

    def forget_order(self, client_order_id: str) -> None:
        """Take an order back that has no fill any more."""
        for statement in FORGET_ORDER:
            self._database.execute(statement, (client_order_id,))

    def undo_fill(self, fill: Fill) -> None:
        """Take an execution back; what is left of its order may fill again."""
        self._move(fill.symbol, -fill.signed_units)
        self.add_cash(fill.signed_units * fill.price + fill.fee_ccy)
        for statement in FORGET_FILL:
            self._database.execute(statement, (fill.fill_id,))
        order_id = fill.client_order_id
        left = tuple(self._fills(FILLS_OF_ORDER, (order_id,)))
        filled = sum((each.quantity_units for each in left), Decimal(0))
        spent = sum((each.notional_ccy for each in left), Decimal(0))
        status = OrderStatus.PARTIALLY_FILLED if left else OrderStatus.ACCEPTED
        self._database.execute(
            "UPDATE orders SET filled = ?, spent = ?, status = ? WHERE client_order_id = ?",
            (plain_text(filled), plain_text(spent), status.value, order_id),
        )

    def fills(self, since: datetime) -> tuple[Fill, ...]:
        """Return executions at or after a moment, in order of time."""
        return tuple(self._fills(FILLS_SINCE, (text_of(since),)))

    def add_update(self, update: BrokerUpdate, deliver_at: datetime) -> None:
        """Keep a message until it is delivered."""
        fill_id = None if update.fill is None else update.fill.fill_id
        self._database.execute(
            "INSERT INTO updates (kind, client_order_id, at, deliver_at, fill_id, reason, filled) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                update.kind.value,
                update.client_order_id,
                text_of(update.at),
                text_of(deliver_at),
                fill_id,
                update.reason,
                None if update.filled_units is None else plain_text(update.filled_units),
            ),
        )

    def take_updates(self, until: datetime) -> tuple[BrokerUpdate, ...]:
        """Deliver what is due, once."""
        rows = self._database.execute(
            "SELECT number, kind, client_order_id, at, fill_id, reason, filled FROM updates "
            "WHERE delivered = 0 AND deliver_at <= ? ORDER BY number",
            (text_of(until),),
        ).fetchall()
        if not rows:
            return ()
        self._database.executemany(
            "UPDATE updates SET delivered = 1 WHERE number = ?", [(row[0],) for row in rows]
        )
        made = []
        for _, kind, order_id, when, fill_id, reason, filled in rows:
            fill = None if fill_id is None else next(self._fills(FILL_BY_ID, (fill_id,)))
            units = None if filled is None else Decimal(filled)
            venue_id, at = f"paper-{order_id}", moment_of(when)
            kind = UpdateKind(kind)
            made.append(BrokerUpdate(kind, order_id, at, venue_id, fill, reason, units))
        return tuple(made)

    def _move(self, symbol: str, signed_units: Decimal) -> None:
        """Change a position."""
        rows = self.query("SELECT units FROM positions WHERE symbol = ?", (symbol,))
        self.set_units(symbol, sum((Decimal(row[0]) for row in rows), signed_units))

    def set_units(self, symbol: str, units: Decimal) -> None:
        """Hold so many units of a symbol."""
        self._database.execute(
            "INSERT OR REPLACE INTO positions VALUES (?, ?)", (symbol, plain_text(units))
        )

    def _value(self, name: str) -> str:
        row = self._database.execute("SELECT value FROM venue WHERE name = ?", (name,)).fetchone()
        return str(row[0])

    def _orders(self, query: str, values: tuple[object, ...]) -> Iterator[BrokerOrder]:
        return map(read_order, self._database.execute(query, values).fetchall())

    def _fills(self, query: str, values: tuple[object, ...]) -> Iterator[Fill]:
        return map(read_fill, self._database.execute(query, values).fetchall())
