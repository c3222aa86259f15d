"""Breakers of a session: what tripped, since when, and who may arm it again.

A breaker is a plain value that a function turns into the next one; the journal keeps it as JSON, so
that a restart changes nothing. What tripped stays tripped: a fact only gets worse until a named
person arms the breaker again with a reason. Only the losses and trades of a day begin anew, with
the next day.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from tradingbot.domain.errors import TradingError
from tradingbot.domain.order_intent import OrderIntent, require_zone
from tradingbot.domain.plain_values import read_record
from tradingbot.domain.trading_state import TradingState, change_trading_state
from tradingbot.risk.limits import SessionLimits


class Breaker(StrEnum):
    """What may trip, and is armed again by name."""

    KILL_SWITCH = "kill_switch"
    DRAWDOWN = "drawdown"
    DAILY_LOSS = "daily_loss"
    REPEATED_EXECUTION = "repeated_execution"
    """Executions of one symbol and side in quick succession, or orders far beyond the rate."""
    CONSECUTIVE_REJECTS = "consecutive_rejects"
    OVERFILL = "overfill"


@dataclass(frozen=True)
class BreakerState:
    """Everything that breakers remember."""

    trading_state: TradingState = TradingState.ACTIVE
    """As set by hand or by a control; breakers tighten it further, see `permitted_state`."""
    kill_reason: str | None = None
    """Why the kill switch was pressed; None where it was not."""
    equity_ccy: Decimal | None = None
    """As marked last."""
    peak_ccy: Decimal | None = None
    """Highest equity since the drawdown breaker was armed."""
    drawdown_frac: float = 0.0
    """Deepest fall from there."""
    day: str | None = None
    """Of the trading session, e.g. `2026-01-05`."""
    start_ccy: Decimal | None = None
    """Equity that the day began with: what the day before ended with."""
    loss_frac: float = 0.0
    """Largest loss of the day."""
    trades: int = 0
    """Orders of the day with a fill."""
    messages_used: float = 0.0
    """Tokens that the bucket is short of being full, at `messages_at`."""
    messages_at: datetime | None = None
    throttled: int = 0
    """Orders denied by the message rate since one passed."""
    rejects: int = 0
    """Rejections since the last fill."""
    executions: tuple[tuple[str, datetime], ...] = ()
    """(symbol and side, when), within the window."""
    is_repeating: bool = False
    overfills: int = 0
    sent: tuple[tuple[str, datetime, float], ...] = ()
    """(content, when, value) of orders approved within the windows."""


def read_breakers(plain: Mapping[str, Any]) -> BreakerState:
    """Read what `as_plain_values` wrote of a state.

    Raises:
        TradingError: If a field is missing, unknown or not readable: nothing is guessed.
    """
    where = "state of the breakers"
    if missing := sorted({each.name for each in fields(BreakerState)} - set(plain)):
        raise TradingError("every field must be there", was=f"none of {missing}", where=where)
    return read_record(BreakerState, plain, name="breakers", error=TradingError)


def mark_equity(state: BreakerState, equity_ccy: Decimal, day: date) -> BreakerState:
    """Take the equity of this moment: losses and drawdowns trip at once, by mark, gap or fee.

    Args:
        state: Before.
        equity_ccy: Of the whole account; one that is no finite number counts as lost whole.
        day: Of the trading session; a later one than before begins a new day.
    """
    if not equity_ccy.is_finite():
        return replace(state, drawdown_frac=math.inf, loss_frac=math.inf)
    state = start_day(state, day)
    start = equity_ccy if state.start_ccy is None else state.start_ccy
    peak = equity_ccy if state.peak_ccy is None else max(state.peak_ccy, equity_ccy)
    return replace(
        state,
        equity_ccy=equity_ccy,
        peak_ccy=peak,
        start_ccy=start,
        drawdown_frac=max(state.drawdown_frac, _fall(peak, equity_ccy)),
        loss_frac=max(state.loss_frac, _fall(start, equity_ccy)),
    )


def start_day(state: BreakerState, day: date) -> BreakerState:
    """Begin a day of trading where it is later than the present one: no trade, no loss yet."""
    if state.day is not None and day.isoformat() <= state.day:
        return state
    name, start = day.isoformat(), state.equity_ccy
    return replace(state, day=name, start_ccy=start, loss_frac=0.0, trades=0)


def _fall(high: Decimal, low: Decimal) -> float:
    return float(1 - low / high) if high > 0 else math.inf


def press_kill_switch(state: BreakerState, reason: str) -> BreakerState:
    """Stop everything; a second press changes nothing.

    Raises:
        TradingError: If no reason is given.
    """
    if state.kill_reason is not None:
        return state
    change_trading_state(state.trading_state, TradingState.HALTED, reason=reason)
    return replace(state, kill_reason=reason)


def set_trading_state(
    state: BreakerState, to: TradingState, *, reason: str, authorised_by: str | None = None
) -> BreakerState:
    """Tighten freely, or loosen under a name.

    Raises:
        TradingError: If it has no reason, or loosens without a name.
    """
    change = change_trading_state(
        state.trading_state, to, reason=reason, authorised_by=authorised_by
    )
    return state if change is None else replace(state, trading_state=to)


def use_message(state: BreakerState, limits: SessionLimits, at: datetime) -> BreakerState:
    """Take one token of the message bucket, for an order that is sent."""
    used = count_messages(state, limits, at) + 1.0
    return replace(state, messages_used=used, messages_at=_latest(state.messages_at, at))


def count_messages(state: BreakerState, limits: SessionLimits, at: datetime) -> float:
    """Return the tokens that are missing at a moment; a clock that went back refills nothing."""
    if state.messages_at is None:
        return 0.0
    passed_s = max(0.0, (at - state.messages_at).total_seconds())
    return max(0.0, state.messages_used - limits.messages_per_s * passed_s)


def record_approval(
    state: BreakerState, limits: SessionLimits, intent: OrderIntent, value_ccy: float, at: datetime
) -> BreakerState:
    """Count an order from the moment of its approval: its message, its content, its value."""
    require_zone(at, "at", "record_approval")
    horizon_s = max(limits.window_s, limits.duplicate_window_s)
    recent = [each for each in state.sent if each[1] is at or _age_s(each[1], at) <= horizon_s]
    state = use_message(state, limits, at)
    return replace(state, throttled=0, sent=(*recent, (intent.content_key, at, value_ccy)))


def record_throttled(state: BreakerState, limits: SessionLimits) -> BreakerState:
    """Count an order that the message rate denied; too many in a row trip the breaker."""
    throttled = state.throttled + 1
    is_repeating = state.is_repeating or throttled >= limits.max_throttled
    return replace(state, throttled=throttled, is_repeating=is_repeating)


def has_same_content(
    state: BreakerState, limits: SessionLimits, content: str, at: datetime
) -> bool:
    """Tell whether the same was approved within the duplicate window."""
    window_s = limits.duplicate_window_s
    return any(key == content and _age_s(when, at) <= window_s for key, when, _ in state.sent)


def forget_approvals(state: BreakerState, contents: Collection[str]) -> BreakerState:
    """Let orders be asked for again that were approved and withdrawn before they were sent."""
    return replace(state, sent=tuple(each for each in state.sent if each[0] not in contents))


def sum_window_value(state: BreakerState, limits: SessionLimits, at: datetime) -> float:
    """Return the value of orders approved within the window, in account currency."""
    sent, window_s = state.sent, limits.window_s  # those of one bar have one moment
    return math.fsum([v for _, when, v in sent if when is at or _age_s(when, at) <= window_s])


def record_rejection(state: BreakerState) -> BreakerState:
    """Count an order that the venue refused, at once or after it was accepted."""
    return replace(state, rejects=state.rejects + 1)


def record_execution(
    state: BreakerState, limits: SessionLimits, key: str, at: datetime, *, is_first: bool
) -> BreakerState:
    """Count a fill; it ends a row of rejections that is not too long yet.

    Args:
        state: Before.
        limits: Window and number of executions.
        key: Symbol and side.
        at: When it was executed.
        is_first: It is the first of its order, which makes a trade of the day.
    """
    recent = (each for each in state.executions if _age_s(each[1], at) <= limits.window_s)
    executions = (*recent, (key, at))
    same = sum(1 for each, _ in executions if each == key)
    return replace(
        state,
        executions=executions,
        is_repeating=state.is_repeating or same > limits.max_repeated_executions,
        trades=state.trades + int(is_first),
        rejects=0 if state.rejects < limits.max_rejects else state.rejects,
    )


def record_overfill(state: BreakerState) -> BreakerState:
    """Count an order that filled more than it asked for."""
    return replace(state, overfills=state.overfills + 1)


def list_tripped(state: BreakerState, limits: SessionLimits) -> tuple[Breaker, ...]:
    """Return what has tripped and was not armed again."""
    tripped = {
        Breaker.KILL_SWITCH: state.kill_reason is not None,
        Breaker.DRAWDOWN: not state.drawdown_frac < limits.max_drawdown_frac,
        Breaker.DAILY_LOSS: not state.loss_frac < limits.max_daily_loss_frac,
        Breaker.REPEATED_EXECUTION: state.is_repeating,
        Breaker.CONSECUTIVE_REJECTS: state.rejects >= limits.max_rejects,
        Breaker.OVERFILL: state.overfills > 0,
    }
    return tuple(each for each, is_tripped in tripped.items() if is_tripped)


def permitted_state(state: BreakerState, limits: SessionLimits) -> TradingState:
    """Return what the session may do: the strictest of its own state and of what has tripped."""
    tripped = list_tripped(state, limits)
    if Breaker.KILL_SWITCH in tripped or state.trading_state is TradingState.HALTED:
        return TradingState.HALTED
    return TradingState.REDUCING if tripped else state.trading_state


def _age_s(when: datetime, at: datetime) -> float:
    """Return seconds since then; a clock that went back makes nothing older."""
    return max(0.0, (at - when).total_seconds())


def _latest(first: datetime | None, second: datetime) -> datetime:
    return second if first is None else max(first, second)
