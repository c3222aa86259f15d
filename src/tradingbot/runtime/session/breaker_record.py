"""Breakers of a session as its journal holds them: of the last turn, or of acts before any."""

from __future__ import annotations

from dataclasses import replace

from tradingbot.domain.events.session import ActAudited, SessionStateSaved
from tradingbot.domain.trading_state import TradingState
from tradingbot.runtime.breaker import Breaker, BreakerState, press_kill_switch, read_breakers
from tradingbot.runtime.journal.reading import JournalReader


def recall_breakers(
    journal: JournalReader, session: str, state: SessionStateSaved | None
) -> BreakerState:
    """Return what a restart begins with.

    Args:
        journal: Of the session.
        session: Its name.
        state: The last one that it saved. Before the first there are only acts of persons, and of
            those a kill or a restriction holds until an arming follows it.
    """
    if state is not None:
        return read_breakers(state.breakers)
    breakers = BreakerState()
    for event in journal.events(session, ActAudited):
        if isinstance(event, ActAudited):
            breakers = _follow(breakers, event)
    return breakers


def _follow(breakers: BreakerState, event: ActAudited) -> BreakerState:
    told = event.details
    if event.act == "kill":
        return press_kill_switch(breakers, event.reason)
    if event.act == "restrict":
        return replace(breakers, trading_state=TradingState(told["state"]))
    if event.act == "arm":
        if Breaker.KILL_SWITCH in told["breakers"].split(", "):
            breakers = replace(breakers, kill_reason=None)
        if "state" in told:
            breakers = replace(breakers, trading_state=TradingState(told["state"]))
    return breakers
