"""Accounts and decisions of the last bars as numbers, for pictures of single agents."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from tradingbot.domain.events.session import SessionStateSaved
from tradingbot.runtime.journal.reading import JournalReader
from tradingbot.runtime.journal.tables import DECISIONS, ENTRIES

ACCOUNT_FIELDS = ("mark", "cash", "units", "realised", "entry")
"""Of `market.account.Account`, in the order of the rows below."""


class AccountRow(NamedTuple):
    """The accounts of N agents at the close of one bar."""

    seq: int
    at: datetime
    """UTC."""
    numbers: NDArray[np.float64]
    """(5, N): last close, cash, signed units, realised profit, average price of what is held; NaN
    where a version kept none."""
    is_portfolio: bool = False
    """Whether the agents are sleeves of one account, among which a master moves capital."""

    @property
    def mark(self) -> NDArray[np.float64]:
        """(N,) last closes."""
        marks: NDArray[np.float64] = self.numbers[0]
        return marks

    @property
    def equity(self) -> NDArray[np.float64]:
        """(N,) worths of the accounts; of sleeves, the capital that they have been given."""
        worth: NDArray[np.float64] = self.numbers[1] + self.numbers[2] * self.numbers[0]
        return worth

    @property
    def profit(self) -> NDArray[np.float64]:
        """(N,) what agents made, net of costs: capital that came or went is none of it."""
        mark, _, units, realised, entry = self.numbers
        made: NDArray[np.float64] = realised + units * (mark - entry)
        return made


def read_accounts(
    journal: JournalReader, session: str, *, after: int = 0, newest: int = 500
) -> list[AccountRow]:
    """Read the accounts that a session saved, the oldest first.

    Args:
        journal: Open to read.
        session: Its name.
        after: Number of an entry: those that follow it.
        newest: So many of the last at most.
    """
    of_states = (ENTRIES.c.session == session, ENTRIES.c.kind == SessionStateSaved.__name__)
    query = select(ENTRIES.c.seq, ENTRIES.c.content).where(*of_states, ENTRIES.c.seq > after)
    with journal.reading() as connection:
        rows = connection.execute(query.order_by(ENTRIES.c.seq.desc()).limit(newest)).fetchall()
    return [_account(seq, json.loads(content)) for seq, content in reversed(rows)]


def read_decisions(
    journal: JournalReader, session: str, symbol: str, *, newest: int = 500
) -> list[dict[str, Any]]:
    """Read the last decisions for one symbol, without those of a shadow, the oldest first."""
    table = DECISIONS.c
    wanted = (table.session == session, table.symbol == symbol, table.is_shadow.is_(False))
    query = select(DECISIONS).where(*wanted).order_by(table.decided_at.desc()).limit(newest)
    with journal.reading() as connection:
        return [dict(row) for row in connection.execute(query).mappings()][::-1]


def count_decisions(
    journal: JournalReader, session: str, *, newest: int = 100_000
) -> list[tuple[datetime, int]]:
    """Return when, and which action, of the last decisions of a session, any order."""
    table = DECISIONS.c
    wanted = (table.session == session, table.is_shadow.is_(False))
    query = select(table.decided_at, table.action).where(*wanted)
    with journal.reading() as connection:
        rows = connection.execute(query.order_by(table.seq.desc()).limit(newest)).fetchall()
    return [(at, int(action)) for at, action in rows]


def _account(seq: int, plain: dict[str, Any]) -> AccountRow:
    fields = plain["account"].get("fields", {})
    n_agents = max((len(each) for each in fields.values()), default=0)
    unknown = [float("nan")] * n_agents
    numbers = np.array([fields.get(name, unknown) for name in ACCOUNT_FIELDS], np.float64)
    at, is_portfolio = datetime.fromisoformat(plain["at"]), "portfolio" in plain["account"]
    return AccountRow(int(seq), at, numbers, is_portfolio)
