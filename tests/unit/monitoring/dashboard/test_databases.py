"""A journal in SQLite and one in PostgreSQL show the same; one that goes away is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from fixtures.postgres import new_journal_address, postgres, postgres_server  # noqa: F401
from fixtures.watched_sessions import FIRST, START_CCY, alert, begin, settle, trade, watch
from tradingbot.monitoring.dashboard.moments import UTC_ZONE
from tradingbot.runtime.journal.journal import SessionJournal


def test_session_of_either_database_is_watched_alike(
    tmp_path: Path,
    new_journal_address: Callable[[], str],  # noqa: F811
) -> None:
    address = new_journal_address()
    watched = watch(tmp_path / "workspace", journal=address)
    with SessionJournal.open(address, create=True) as journal:
        journal.record(*begin(), *trade(0), settle(0), session="away")
        (before,) = watched.sessions()
        journal.record(*trade(1, "QQQ"), settle(1), alert(1), session="away")
        (view,) = watched.sessions()
        agents = watched.agents("away")
        assert agents is not None
        rows, hours = agents.accounts(), agents.actions_by_hour(UTC_ZONE)

    assert (len(before.equity), len(view.equity)) == (1, 2)
    assert view.equity.equity_ccy.tolist() == [START_CCY, START_CCY + 10]
    assert view.equity.at[0] == np.datetime64(FIRST.replace(tzinfo=None), "us")
    assert [each.fill.symbol for each in view.trades] == ["QQQ", "SPY"]
    assert view.freshness.state == "unknown"
    assert len(rows) == 2
    assert hours[15, 2] == 1.0
