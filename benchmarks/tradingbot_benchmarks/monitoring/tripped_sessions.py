"""Sessions that trip and recover as often as is asked, in the journal that sessions have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from tradingbot.domain.events.session import SessionStarted, SessionStateSaved
from tradingbot.domain.plain_values import as_plain_values
from tradingbot.domain.trading_state import TradingState
from tradingbot.risk.limits import SessionLimits
from tradingbot.runtime.breaker import BreakerState, mark_equity
from tradingbot.runtime.journal.journal import SessionJournal
from tradingbot.runtime.session.folder import SessionFolder
from tradingbot.runtime.session.settings import SessionSettings

# Only the alert on the drawdown is timed: the session's own breakers stay out of it.
_WIDE = SessionLimits(max_drawdown_frac=1.0, critical_drawdown_frac=1.0, max_daily_loss_frac=1.0)


@dataclass
class TrippedSession:
    """A session that runs: its lock is held by this process, its journal has its one writer."""

    name: str
    journal: SessionJournal
    breakers: BreakerState = field(default_factory=BreakerState)

    def mark(self, equity: int) -> None:
        """Save the state of a turn at whose end the accounts are worth so much."""
        now = datetime.now(UTC)
        self.breakers = mark_equity(self.breakers, Decimal(equity), now.date())
        plain = as_plain_values(self.breakers)
        account = {"bar": 1, "action": None}
        money = (Decimal(0), Decimal(equity))
        saved = SessionStateSaved(now, TradingState.ACTIVE, *money, {}, plain, account)
        self.journal.record(saved, session=self.name)


@contextmanager
def open_tripped_session(workspace: Path, name: str) -> Iterator[TrippedSession]:
    """Start a session with 100,000."""
    digest = "0" * 64
    settings = SessionSettings(
        *(name, "drawn.zip", digest, "drawn", None, digest, 0, None),
        *("XNYS", "1h", "session"),
        session_limits=_WIDE,
    )
    folder = SessionFolder.create(workspace, settings)
    with folder.hold():
        journal = SessionJournal.open(folder.journal, create=True)
        try:
            started = SessionStarted(datetime.now(UTC), "paper", ("SPY",), digest, "0", digest)
            journal.record(started, session=name)
            session = TrippedSession(name, journal)
            session.mark(100_000)
            yield session
        finally:
            journal.close()
