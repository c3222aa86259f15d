"""What judging said: one line per gate, and the memo."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tradingbot.evaluation.statistics.interval import Interval

Outcome = Literal["pass", "fail", "not measured"]
Verdict = Literal["GO", "CONDITIONAL", "NO-GO"]
_SIGNS = {">=": "≥", "<=": "≤"}
_PURE = frozenset(["fraction", "probability", "ratio", "0 or 1", "0 … 1"])
"""Units of numbers that need no word behind them."""
_IN_WORDS = {
    ("spa_p", 0.0): "< 0.001 (no draw was as good)",
    ("cost_reserve", math.inf): "no cost in the range took it away",
    ("backtest_length_frac", math.inf): "one trial needs no minimum",
}
"""(Metric, figure) at the edge of what can be measured → what it means."""


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

    @property
    def wanted(self) -> str:
        """The target for people: `≥ 0.7`."""
        comparison, _, rest = self.target.partition(" ")
        return f"{_SIGNS.get(comparison, comparison)} {rest}"

    @property
    def in_words(self) -> str:
        """What a figure at the edge of what can be measured means; empty for any other."""
        return "" if self.measured is None else _IN_WORDS.get((self.metric, self.measured), "")

    @property
    def found(self) -> str:
        """What was measured, with its interval and unit; empty where nothing was."""
        if self.measured is None or self.in_words:
            return self.in_words
        unit = "" if self.unit in _PURE else f" {self.unit}"
        return f"{_figure(self.measured, self.interval)}{unit}"


def _figure(measured: float, interval: Interval | None) -> str:
    """Write a figure and its ends with as many decimals as the interval's width is worth."""
    if interval is None:
        return f"{measured:.4g}".replace("inf", "∞")
    width = interval.high - interval.low
    is_plain = 0.0 < width < math.inf
    form = f".{max(2, 1 - math.floor(math.log10(width)))}f" if is_plain else ".4g"
    return f"{measured:{form}} [{interval.low:{form}}, {interval.high:{form}}]"


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
    """Weaknesses of the strategy beside the reasons, strongest first; never what speaks for it."""
    would_change: tuple[str, ...]
    """What would change it."""
    alarm: Alarm | None
    gates: tuple[GateResult, ...]

    def outcomes(self, outcome: Outcome) -> tuple[GateResult, ...]:
        """Return the gates with one outcome."""
        return tuple(gate for gate in self.gates if gate.outcome == outcome)
