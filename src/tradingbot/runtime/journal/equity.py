"""The equity of a session as numbers: a million bars in a second, and nothing else of them."""

from __future__ import annotations

from datetime import UTC
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Float, String, cast, func, select, type_coerce

from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.journal.tables import STATES

_MOMENT, _MICROSECONDS = 32, 26
"""Characters of a moment in SQLite, and those up to its zone, which is UTC always."""


class EquityRows(NamedTuple):
    """Equity at the close of T settled bars, in the order of the journal."""

    seq: int
    """Number of the last entry that was read; the one that was asked for where there is none."""
    at: NDArray[np.datetime64]
    """(T,) closes, UTC, microseconds."""
    equity_ccy: NDArray[np.float64]
    """(T,) account currency; rounded to 64 bits, for pictures and not for accounts."""


def read_equity(journal: JournalReader, session: str, *, after: int = 0) -> EquityRows:
    """Read the equity that a session saved at every bar.

    Args:
        journal: Open to read.
        session: Its name.
        after: Number of an entry: those that follow it.

    Raises:
        JournalUnavailableError: If the database cannot be reached.
    """
    with journal.reading() as connection:
        if connection.dialect.name == "sqlite":
            return _read_joined(connection, session, after)
        return _read_rows(connection, session, after)


def _read_joined(connection: Connection, session: str, after: int) -> EquityRows:
    """Read all rows as one text: a Python object for each number would take five times as long."""
    table = STATES.c
    wanted = (table.session == session, table.seq > after)
    plain = (table.seq, type_coerce(table.at, String), type_coerce(table.equity_ccy, String))
    rows = select(*plain).where(*wanted).order_by(table.seq).subquery()
    seq, at, equity = rows.c
    joined = (func.max(seq), func.group_concat(at, ""), func.group_concat(equity, ","))
    last, moments, numbers = connection.execute(select(*joined)).one()
    if last is None:
        return _nothing(after)
    whole = np.frombuffer(moments.encode(), f"S{_MOMENT}")
    closes = whole.astype(f"S{_MICROSECONDS}").astype("datetime64[us]")
    return EquityRows(int(last), closes, np.fromstring(numbers, np.float64, sep=","))


def _read_rows(connection: Connection, session: str, after: int) -> EquityRows:
    table = STATES.c
    columns = (table.seq, table.at, cast(table.equity_ccy, Float(53)))
    query = select(*columns).where(table.session == session, table.seq > after)
    rows = connection.execute(query.order_by(table.seq)).fetchall()
    if not rows:
        return _nothing(after)
    seq, at, equity = zip(*rows, strict=True)
    plain = [each.astimezone(UTC).replace(tzinfo=None) for each in at]
    closes = np.array(plain, "datetime64[us]")
    return EquityRows(int(seq[-1]), closes, np.array(equity, np.float64))


def _nothing(after: int) -> EquityRows:
    return EquityRows(after, np.array([], "datetime64[us]"), np.array([], np.float64))
