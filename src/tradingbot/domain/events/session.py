"""Events of a trading session: decisions, states to restart from, alerts, and acts of persons.

They stand in the journal beside the events of orders. Times are those of the bars or of the venue;
an act of a person carries the time at which it was done.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from tradingbot.domain.events.event import Event
from tradingbot.domain.trading_state import TradingState


@dataclass(frozen=True)
class SessionStarted(Event):
    """A session begins, or goes on after a restart."""

    at: datetime
    broker: str
    """Name of the venue, e.g. `paper` or `alpaca`."""
    symbols: tuple[str, ...]
    model: str
    """Hash of the model that decides."""
    code_version: str
    settings_sha256: str
    """Of limits, costs and options: two processes that differ do not trade as one."""


@dataclass(frozen=True)
class ModelLoaded(Event):
    """A model is ready to decide: which, from which run, and what its gates said."""

    at: datetime
    model: str
    """Hash of the model."""
    run: str | None = None
    verdict: str | None = None
    """GO, CONDITIONAL or NO-GO; None where the run was not evaluated."""
    details: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DecisionMade(Event):
    """What a model decided for one symbol on one bar."""

    symbol: str
    decided_at: datetime
    """Close of the bar that was decided on."""
    model: str
    action_space: str
    """Kind of the raw action, e.g. `discrete` or `continuous`."""
    action: int
    """The unified action: code of `domain.action.Action` that the decision amounts to."""
    raw_action: float
    """As the model gave it; NaN where it gave none."""
    smoothed_action: float
    """After smoothing, as the order was sized."""
    confidence: float | None = None
    option: str | None = None
    """Name of the option that was being followed."""
    intrinsic_reward: float | None = None
    client_order_id: str | None = None
    """Order that followed; None where the decision asks for none."""
    inputs_sha256: str | None = None
    """Of everything that was decided on: a replay proves the decision with it."""
    is_shadow: bool = False
    """By a candidate beside the serving model: no order follows."""


@dataclass(frozen=True)
class SessionStateSaved(Event):
    """Everything that a restart needs and that does not follow from the other entries."""

    at: datetime
    """Close of the last bar that is settled."""
    trading_state: TradingState
    cash_ccy: Decimal
    equity_ccy: Decimal
    positions: dict[str, Decimal]
    """Symbol → signed units; what is flat may be left out."""
    breakers: dict[str, Any] = field(default_factory=dict)
    """Breaker → its plain values."""
    account: dict[str, Any] = field(default_factory=dict)
    """Plain values of the simulator's account; floats come back bit for bit."""


class AlertLevel(StrEnum):
    """How much an alert matters."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True)
class AlertRaised(Event):
    """Something needs attention."""

    at: datetime
    level: AlertLevel
    code: str
    """Stable, in capitals, e.g. `DRAWDOWN`."""
    text: str
    symbol: str | None = None


@dataclass(frozen=True)
class ActAudited(Event):
    """A person did something that changes what may be traded."""

    at: datetime
    act: str
    """E.g. `arm`, `kill`, `resume`, `promote`, `rollback`."""
    actor: str
    reason: str
    details: dict[str, str] = field(default_factory=dict)
