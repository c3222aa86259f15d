"""Rules as data: which number of which metric is too low or too high, for how long, and then what.

A rule is checked when it is read; a metric that is not measured is refused with the nearest name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tradingbot.domain.checks import CheckedFields, bounded, require, require_kinds
from tradingbot.domain.errors import require_known
from tradingbot.domain.events.session import AlertLevel
from tradingbot.monitoring.alerts.metric import METRICS

COOLDOWN_S = 300.0
"""Seconds after a notice within which the same rule and subject are not told again."""


@dataclass(frozen=True)
class EscalationStep(CheckedFields):
    """Which channels are told of an alert that is not acknowledged."""

    after_s: float = bounded(900.0, "(0, inf)")
    """Seconds after it fired."""
    channels: tuple[str, ...] = ()
    """Names of channels; all where none is named."""


@dataclass(frozen=True)
class AlertRule:
    """When something needs attention."""

    metric: str
    """What is measured, e.g. `drawdown_frac`."""
    words: str = ""
    """What it means and what to do first, in one line."""
    min: float | None = None
    """Breached below it; None: no lower limit."""
    max: float | None = None
    """Breached above it; None: no upper limit."""
    for_s: float = bounded(0.0, "[0, inf)")
    """Seconds for which it must be breached without a pause."""
    severity: AlertLevel = AlertLevel.CRITICAL
    """How much it matters: which channels are told."""
    cooldown_s: float = bounded(COOLDOWN_S, "[0, inf)")
    """Seconds within which the same subject is not told again, however often it comes back."""
    channels: tuple[str, ...] = ()
    """Names of channels that are told first; all where none is named."""
    escalation: tuple[EscalationStep, ...] = ()
    """Steps while it is not acknowledged, the soonest first."""
    is_enabled: bool = True
    """Whether it is asked at all."""

    def __post_init__(self) -> None:
        """Refuse what can never be breached or is not measured."""
        require_kinds(self)
        require_known(self.metric, METRICS, "metric of a rule must be one that is measured")
        has_limit = self.min is not None or self.max is not None
        require(has_limit, "min must be given, or max", self, remedy="Write e.g. max: 0.2")
        for name in ("min", "max"):
            limit = getattr(self, name)
            finite = limit is None or math.isfinite(limit)
            require(finite, f"{name} must be finite", self, remedy="Give a number")
        if self.min is not None and self.max is not None:
            require(self.min <= self.max, "min must not be above max", self)
        after = [step.after_s for step in self.escalation]
        rule = "escalation must name later steps later"
        require(after == sorted(set(after)), rule, self, remedy="Order them by after_s")

    def is_breached(self, value: float) -> bool:
        """Tell whether a number lies outside; NaN does: what is not known is not fine."""
        if math.isnan(value):
            return True
        too_low = self.min is not None and value < self.min
        return too_low or (self.max is not None and value > self.max)

    def worse(self, first: float, second: float) -> float:
        """Return the one of two values that lies further outside."""
        if math.isnan(first) or math.isnan(second):
            return math.nan
        return max(first, second, key=self._excess)

    def _excess(self, value: float) -> float:
        below = -math.inf if self.min is None else self.min - value
        above = -math.inf if self.max is None else value - self.max
        return max(below, above)

    @property
    def limits(self) -> str:
        """What must hold, e.g. `at least 0.1`."""
        low = None if self.min is None else f"at least {self.min:g}"
        high = None if self.max is None else f"at most {self.max:g}"
        return " and ".join(each for each in (low, high) if each)
