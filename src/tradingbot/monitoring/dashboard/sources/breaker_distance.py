"""How far a session is from each of its limits, as its breakers remember it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from tradingbot.risk.limits import SessionLimits
from tradingbot.runtime.breaker import Breaker, BreakerState, list_tripped

Unit = Literal["fraction", "count", "switch"]


@dataclass(frozen=True)
class BreakerDistance:
    """One limit and how much of it is used."""

    name: str
    unit: Unit
    used: float
    limit: float
    is_tripped: bool
    words: str
    """Since when and of what the number is."""

    @property
    def used_frac(self) -> float:
        """Share of the limit that is used, in [0, 1]; 1 where it tripped."""
        if self.is_tripped:
            return 1.0
        share = self.used / self.limit if self.limit > 0 else 1.0
        return min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0


def measure_distances(state: BreakerState, limits: SessionLimits) -> tuple[BreakerDistance, ...]:
    """Return every breaker with its distance, and the count of the day's trades."""
    tripped = {*list_tripped(state, limits)}
    day = f"of the trading day {state.day}" if state.day else "of the trading day"
    same = max(Counter(key for key, _ in state.executions).values(), default=0)
    rows: tuple[tuple[Breaker | None, str, Unit, float, float, str], ...] = (
        (
            Breaker.KILL_SWITCH,
            "kill switch",
            "switch",
            float(state.kill_reason is not None),
            1.0,
            state.kill_reason or "not pressed",
        ),
        (
            Breaker.DRAWDOWN,
            "drawdown",
            "fraction",
            state.drawdown_frac,
            limits.max_drawdown_frac,
            "deepest fall from the highest equity since it was armed",
        ),
        (
            Breaker.DAILY_LOSS,
            "daily loss",
            "fraction",
            state.loss_frac,
            limits.max_daily_loss_frac,
            f"largest loss {day}",
        ),
        (None, "trades", "count", state.trades, limits.max_trades, f"orders with a fill {day}"),
        (
            Breaker.REPEATED_EXECUTION,
            "repeated executions",
            "count",
            same,
            limits.max_repeated_executions + 1,
            f"of one symbol and side within {limits.window_s:g} s",
        ),
        (
            Breaker.CONSECUTIVE_REJECTS,
            "rejections",
            "count",
            state.rejects,
            limits.max_rejects,
            "by the venue, in a row",
        ),
        (Breaker.OVERFILL, "overfills", "count", state.overfills, 1, "orders that filled too much"),
    )
    return tuple(
        BreakerDistance(name, unit, float(used), float(limit), breaker in tripped, words)
        for breaker, name, unit, used, limit, words in rows
    )
