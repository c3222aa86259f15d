"""The equity of a session as numbers: a million bars in a second, and nothing else of them."""

from __future__ import annotations

from datetime import UTC
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Float, String, cast, select, type_coerce

from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.journal.tables import STATES

_MICROSECONDS = 26
"""Characters of a moment in SQLite up to its zone, which is UTC always."""


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
    table = STATES.c
    # As the database has them: a Decimal and a moment for every bar would take ten times as long.
    columns = (table.seq, type_coerce(table.at, String), cast(table.equity_ccy, Float(53)))
    query = select(*columns).where(table.session == session, table.seq > after)
    with journal.reading() as connection:
        rows = connection.execute(query.order_by(table.seq)).fetchall()
    if not rows:
        return EquityRows(after, np.array([], "datetime64[us]"), np.array([], np.float64))
    seq, at, equity = zip(*rows, strict=True)
    return EquityRows(int(seq[-1]), _moments(at), np.array(equity, np.float64))


def _moments(found: tuple[Any, ...]) -> NDArray[np.datetime64]:
    """Return moments of either database, UTC: text of one, aware datetimes of the other."""
    if isinstance(found[0], str):
        return np.array(found, f"U{_MICROSECONDS}").astype("datetime64[us]")
    plain = [each.astimezone(UTC).replace(tzinfo=None) for each in found]
    return np.array(plain, "datetime64[us]")
