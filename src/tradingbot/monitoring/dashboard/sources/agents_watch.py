"""Single agents of a session: accounts of the last bars, decisions of one, actions by the hour."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import UserError
from tradingbot.domain.position import Fill
from tradingbot.monitoring.dashboard.moments import Zone
from tradingbot.monitoring.dashboard.sources.session_place import SessionPlace
from tradingbot.runtime.journal.accounts import (
    AccountRow,
    count_decisions,
    read_accounts,
    read_decisions,
)
from tradingbot.runtime.journal.reading import JournalReader

KEPT_BARS = 500
"""Bars of single agents that are drawn."""
N_ACTIONS = 7


@dataclass(frozen=True)
class AgentBars:
    """One agent over its last T bars."""

    at: NDArray[np.datetime64]
    """(T,) UTC."""
    price: NDArray[np.float64]
    """(T,) closes."""
    equity_ccy: NDArray[np.float64]
    """(T,) worth of its account, or capital of its sleeve."""
    profit_ccy: NDArray[np.float64]
    """(T,) what it made since the session began, net of costs."""
    is_portfolio: bool
    """Whether it is a sleeve of one account."""
    raw: NDArray[np.float64]
    """(T,) action as the model gave it; NaN where none was decided."""
    smoothed: NDArray[np.float64]
    options: tuple[str | None, ...]
    """(T,) option that was followed."""
    fills: tuple[Fill, ...]
    """Of these bars."""


class AgentsWatch:
    """Agents of one session; accounts are read as they are saved."""

    def __init__(self, place: SessionPlace) -> None:
        self._place, self._lock = place, threading.Lock()
        self._rows: deque[AccountRow] = deque(maxlen=KEPT_BARS)

    def accounts(self) -> tuple[AccountRow, ...]:
        """Return the accounts of the last bars; none where the journal cannot be read."""
        with self._lock:
            after = self._rows[-1].seq if self._rows else 0
            try:
                with JournalReader(self._place.address, timeout_s=2.0) as journal:
                    self._rows += read_accounts(
                        journal, self._place.name, after=after, newest=KEPT_BARS
                    )
            except UserError:
                pass  # the page says so by the session's own view
            return tuple(self._rows)

    def agent(self, symbol: str, place: int, fills: Sequence[Fill]) -> AgentBars:
        """Return one agent, the `place`-th of its session."""
        rows = [row for row in self.accounts() if place < row.numbers.shape[1]]
        try:
            with JournalReader(self._place.address, timeout_s=2.0) as journal:
                decided = read_decisions(journal, self._place.name, symbol, newest=KEPT_BARS)
        except UserError:
            decided = []
        by_bar = {row["decided_at"]: row for row in decided}
        found = [by_bar.get(row.at, {}) for row in rows]
        first = rows[0].at if rows else None
        return AgentBars(
            np.array([row.at.replace(tzinfo=None) for row in rows], "datetime64[us]"),
            np.array([row.mark[place] for row in rows]),
            np.array([row.equity[place] for row in rows]),
            np.array([row.profit[place] for row in rows]),
            bool(rows) and rows[-1].is_portfolio,
            np.array([float(each.get("raw_action", np.nan)) for each in found]),
            np.array([float(each.get("smoothed_action", np.nan)) for each in found]),
            tuple(each.get("option") for each in found),
            tuple(f for f in fills if f.symbol == symbol and first and f.filled_at >= first),
        )

    def actions_by_hour(self, zone: Zone) -> NDArray[np.float64]:
        """Return the share (24, 7) of each action in the decisions of an hour of the day.

        NaN in hours in which nothing was decided.
        """
        counts = np.zeros((24, N_ACTIONS))
        try:
            with JournalReader(self._place.address, timeout_s=2.0) as journal:
                decided = count_decisions(journal, self._place.name)
        except UserError:
            decided = []
        hours: dict[datetime, int] = {}
        for at, action in decided:
            hour = hours.setdefault(at, at.astimezone(zone.rules).hour)
            if 0 <= action < N_ACTIONS:
                counts[hour, action] += 1
        totals = counts.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            shares: NDArray[np.float64] = counts / totals
        return shares
