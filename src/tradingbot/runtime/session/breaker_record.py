"""Breakers of a session as its journal holds them: of the last turn, or of a kill before any."""

from __future__ import annotations

from tradingbot.domain.events.session import SessionStateSaved
from tradingbot.domain.events.trading import TradingStateChanged
from tradingbot.domain.trading_state import TradingState
from tradingbot.runtime.breaker import BreakerState, press_kill_switch, read_breakers
from tradingbot.runtime.journal.reading import JournalReader


def recall_breakers(
    journal: JournalReader, session: str, state: SessionStateSaved | None
) -> BreakerState:
    """Return what a restart begins with.

    Args:
        journal: Of the session.
        session: Its name.
        state: The last one that it saved. Before the first there are only acts of persons, and of
            those a kill holds until an arming follows it.
    """
    if state is not None:
        return read_breakers(state.breakers)
    changes = [
        event.change
        for event in journal.events(session, TradingStateChanged)
        if isinstance(event, TradingStateChanged)
    ]
    if changes and changes[-1].after is TradingState.HALTED:
        return press_kill_switch(BreakerState(), changes[-1].reason)
    return BreakerState()
