"""Loosening what a control tightened: by an authorised person, under a name and with a reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tradingbot.domain.errors import TradingError
from tradingbot.runtime.breaker import Breaker, BreakerState

_ARMED: dict[Breaker, dict[str, Any]] = {
    Breaker.KILL_SWITCH: {"kill_reason": None},
    Breaker.DRAWDOWN: {"drawdown_frac": 0.0},
    Breaker.DAILY_LOSS: {"loss_frac": 0.0},
    Breaker.REPEATED_EXECUTION: {"is_repeating": False, "executions": (), "throttled": 0},
    Breaker.CONSECUTIVE_REJECTS: {"rejects": 0},
    Breaker.OVERFILL: {"overfills": 0},
}


def rearm_breaker(
    state: BreakerState, breaker: Breaker, *, by: str, reason: str, authorised: frozenset[str]
) -> BreakerState:
    """Arm a breaker again; losses and drawdowns count from the equity of now.

    Args:
        state: Before.
        breaker: Which.
        by: Name of the person.
        reason: Why it is safe to go on.
        authorised: Names of those who may.

    Raises:
        TradingError: If the name is not among them, or no reason is given.
    """
    require_authorised(f"arming {breaker.value}", by, reason, authorised)
    changes = dict(_ARMED[breaker])
    if breaker is Breaker.DRAWDOWN:
        changes["peak_ccy"] = state.equity_ccy
    if breaker is Breaker.DAILY_LOSS:
        changes["start_ccy"] = state.equity_ccy
    return replace(state, **changes)


def require_authorised(what: str, by: str, reason: str, authorised: frozenset[str]) -> None:
    """Refuse an act of a person who may not do it, or that has no reason.

    Raises:
        TradingError: Saying who may.
    """
    if by not in authorised or not by.strip():
        rule = "only an authorised person may do this"
        names = ", ".join(sorted(authorised))
        none = "No name was given by --authorise at the start; begin another session with one"
        remedy = f"Authorised: {names}" if names else none
        raise TradingError(rule, was=repr(by), where=what, remedy=remedy)
    if not reason.strip():
        raise TradingError("a reason must be given", was=repr(reason), where=what)
