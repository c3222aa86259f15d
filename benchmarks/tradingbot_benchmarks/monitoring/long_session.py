"""A session of a million bars: its journal is written row by row, chained as the product chains."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.events.session import SessionStarted, SessionStateSaved
from tradingbot.domain.plain_values import as_plain_values
from tradingbot.domain.seeding import stream
from tradingbot.domain.trading_state import TradingState
from tradingbot.runtime.breaker import BreakerState
from tradingbot.runtime.brokers.paper.options import PaperOptions
from tradingbot.runtime.journal.entry import Head, chain, write_content
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.session.folder import SessionFolder
from tradingbot.runtime.session.settings import SessionSettings

START_CCY = 1_000_000.0
FIRST_BAR = datetime(2024, 1, 2, 15, 30, tzinfo=UTC)
_CHUNK = 50_000
_BATCH = "0" * 32
_MARK = "123456.75"
"""Stands for the equity in the text that is written for every bar."""


def make_session(workspace: Path, name: str) -> SessionFolder:
    """Make the folder of a session of two symbols, replayed without an end."""
    settings = SessionSettings(
        name=name,
        model="bundle.zip",
        model_sha256="5f" * 32,
        run="drawn",
        dataset=None,
        data_sha256="ab" * 32,
        first_bar=0,
        stop_bar=10**9,
        calendar="XNYS",
        timeframe="1h",
        grid="session",
        venue=PaperOptions(START_CCY),
    )
    return SessionFolder.create(workspace, settings)


def started() -> SessionStarted:
    """Return what the session writes first."""
    return SessionStarted(FIRST_BAR, "paper", ("AAA", "BBB"), "5f" * 32, "0.1.0", "ab" * 32)


def settled(bar: int, equity_ccy: float) -> SessionStateSaved:
    """Return what it writes at the close of a bar."""
    worth = Decimal(repr(equity_ccy))
    fields = {"mark": [100.0, 50.0], "cash": [equity_ccy / 2] * 2, "units": [0.0, 0.0]}
    return SessionStateSaved(
        FIRST_BAR + timedelta(hours=bar),
        TradingState.ACTIVE,
        worth,
        worth,
        {},
        as_plain_values(BreakerState()),
        {"bar": bar, "fields": fields},
    )


def draw_equity(n_bars: int) -> NDArray[np.float64]:
    """Draw a course of equity (T,) with one spike and one gap that must both be seen."""
    moves = stream(7, "bench dashboard").normal(0.0, 50.0, n_bars)
    equity = np.round(START_CCY + np.cumsum(moves), 2)
    equity[n_bars // 3] = np.round(equity.max() + 12_345.67, 2)
    equity[2 * n_bars // 3] = np.round(equity.min() - 7_654.32, 2)
    return equity


def write_long_session(workspace: Path, name: str, equity: NDArray[np.float64]) -> SessionFolder:
    """Write a journal of as many bars as there are numbers (T,)."""
    folder = make_session(workspace, name)
    with SessionJournal.open(folder.journal, create=True) as journal:
        head = journal.record(started(), session=name)
    with sqlite3.connect(folder.journal) as database:
        rows = list(_rows(name, head, equity))
        for begin in range(0, len(rows), _CHUNK):
            part = rows[begin : begin + _CHUNK]
            database.executemany(
                "INSERT INTO entries (seq, session, kind, key, content, previous_sha256, sha256,"
                " batch, place) VALUES (?, ?, 'SessionStateSaved', NULL, ?, ?, ?, ?, ?)",
                [(seq, name, text, old, new, _BATCH, seq) for seq, text, old, new, _, _ in part],
            )
            database.executemany(
                "INSERT INTO states (seq, session, at, trading_state, cash_ccy, equity_ccy)"
                " VALUES (?, ?, ?, 'active', ?, ?)",
                [(seq, name, at, worth, worth) for seq, _, _, _, at, worth in part],
            )
    return folder


def _rows(
    name: str, head: Head, equity: NDArray[np.float64]
) -> Iterator[tuple[int, str, str, str, str, str]]:
    """Yield number, content, hashes, moment and equity of every bar."""
    form = write_content(settled(0, float(_MARK)))
    first = json.dumps(FIRST_BAR.isoformat())
    for bar, worth in enumerate(equity.tolist()):
        moment = FIRST_BAR + timedelta(hours=bar)
        text = form.replace(_MARK, repr(worth)).replace(first, json.dumps(moment.isoformat()))
        after = chain(head, name, text)
        at = moment.isoformat(timespec="microseconds")
        yield after.seq, text, head.sha256, after.sha256, at, repr(worth)
        head = after
