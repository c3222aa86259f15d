"""What judging said: one line per gate, and the memo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tradingbot.evaluation.oracle.intervals import Interval

Outcome = Literal["pass", "fail", "not measured"]
Verdict = Literal["GO", "CONDITIONAL", "NO-GO"]


@dataclass(frozen=True)
class GateResult:
    """One gate, judged."""

    gate: str
    """Id: phase and name, `final/sharpe`."""
    phase: str
    words: str
    """What is asked, in words."""
    is_required: bool
    """GO needs it."""
    metric: str
    """Name of what was measured."""
    unit: str
    target: str
    """Comparison and number: `> 1.0`."""
    measured: float | None
    interval: Interval | None
    evidence: str
    """Section of the report that shows it."""
    outcome: Outcome
    reason: str = ""
    """Why it was not measured."""


@dataclass(frozen=True)
class Alarm:
    """A result too good to be believed without a leak check."""

    words: str
    is_explained: bool
    """The leak check was clean, and the market is known to hold that much."""
    explanation: str


@dataclass(frozen=True)
class Memo:
    """The answer to: is this policy worth anything?"""

    verdict: Verdict
    headline: str
    """One sentence: `No edge: hold the index.`"""
    reasons: tuple[str, ...]
    """Strongest first."""
    counter_evidence: tuple[str, ...]
    """What speaks against the verdict most."""
    would_change: tuple[str, ...]
    """What would change it."""
    alarm: Alarm | None
    gates: tuple[GateResult, ...]

    def outcomes(self, outcome: Outcome) -> tuple[GateResult, ...]:
        """Return the gates with one outcome."""
        return tuple(gate for gate in self.gates if gate.outcome == outcome)
