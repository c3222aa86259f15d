"""What a gate asks: a metric, a comparison, a number. Gates are data; their file may be edited."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from tradingbot.domain.checks import require, require_kinds
from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.evaluation.gates.measurements import BENCH_PREFIX, KNOWN

Comparison = Literal[">", ">=", "<", "<="]
JudgedBy = Literal["estimate", "low", "high"]
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
EDGE_PHASE = "edge"
"""Without these there is nothing to deploy: one that fails means NO-GO."""
FALLBACK_PHASE = "fallback"
"""What the plan accepts where the final gates fail; where they hold it says nothing."""


@dataclass(frozen=True)
class Gate:
    """One gate."""

    name: str
    """Unique, `phase/what`."""
    words: str
    """What is asked, for people."""
    metric: str
    """One of `KNOWN`, or `bench/` and the name of a benchmark's record."""
    comparison: Comparison
    target: float
    required: bool = False
    """GO needs it."""
    judged_by: JudgedBy = "estimate"
    """Which end of the interval must reach the target."""

    def __post_init__(self) -> None:
        """Refuse what cannot be judged."""
        require_kinds(self)
        phase, _, what = self.name.partition("/")
        require(bool(phase and what), "name must be phase/what", self)
        if self.metric not in KNOWN and not self.metric.startswith(BENCH_PREFIX):
            rule = "a gate must ask for a known metric"
            remedy = suggest(self.metric, KNOWN)
            where = f"gate {self.name!r}"
            raise ConfigError(rule, was=repr(self.metric), where=where, remedy=remedy)
        require(math.isfinite(self.target), "target must be finite", self)

    @property
    def phase(self) -> str:
        """The part of the name before the stroke."""
        return self.name.partition("/")[0]

    def holds(self, value: float) -> bool:
        """Tell whether a measured value reaches the target; NaN never does."""
        return COMPARISONS[self.comparison](value, self.target)
