"""Training runs as pages show them: records of what a run's folder says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.monitoring.dashboard.sources.freshness import Freshness


@dataclass(frozen=True)
class RunSummary:
    """A run in a list; `problem` where its folder cannot be read."""

    id: str
    state: str
    """As its status says, but `killed` where its process is gone."""
    learner: str = ""
    created_at: datetime | None = None
    changed_at: datetime | None = None
    steps: int = 0
    steps_per_agent: int = 0
    """The budget; 0 where it is not told."""
    agents: tuple[str, ...] = ()
    data: str = ""
    """In words; what was generated is called so."""
    action_space: str = ""
    words: tuple[str, ...] = ()
    """What the flight recorder found, at the end."""
    reason: str = ""
    """Why it ended."""
    is_evaluated: bool = False
    problem: str = ""

    @property
    def is_running(self) -> bool:
        """Whether a process trains it now."""
        return self.state == "running"

    @property
    def done_frac(self) -> float:
        """Share of its budget that is done."""
        return min(self.steps / self.steps_per_agent, 1.0) if self.steps_per_agent else 0.0


class UpdateRow(NamedTuple):
    """What is kept of one update."""

    sequence: int
    steps: int
    means: dict[str, float]
    """Metric → mean over agents."""
    terms: dict[str, NDArray[np.float32]]
    """Reward term → (N,) per agent."""
    entropy: NDArray[np.float32] | None
    """(N,) normalised; None where the learner draws no actions."""


class ScoreRow(NamedTuple):
    """One evaluation on validation."""

    sequence: int
    steps: int
    mean_score: float
    is_best: bool
    scores: dict[str, NDArray[np.float32]]
    """Name → (N,); `histogram` (N, bins)."""


@dataclass(frozen=True)
class RecorderWords:
    """What the flight recorder said after one update."""

    update: int
    code: str
    severity: str
    agent: str
    words: str
    remedy: str


@dataclass(frozen=True)
class RunView:
    """One run in full."""

    summary: RunSummary
    freshness: Freshness
    updates: tuple[UpdateRow, ...] = ()
    scores: tuple[ScoreRow, ...] = ()
    said: tuple[RecorderWords, ...] = ()
    """The last, the newest first."""
    steps_per_s: float | None = None
    """Per agent; None while unknown."""
    left_s: float | None = None
    """Until the budget is used up; None where it does not run, or is unknown."""
    problem: str = ""

    @property
    def steps(self) -> int:
        """Environment steps per agent by its journal, which is ahead of its status."""
        return self.updates[-1].steps if self.updates else self.summary.steps


def mean_of(value: Any) -> float:
    """Return the mean of one number per agent, without those that are unknown; NaN of none."""
    if isinstance(value, bool):
        return float("nan")
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, list):
        numbers = [n for n in value if isinstance(n, int | float) and not isinstance(n, bool)]
        return float(np.mean(numbers)) if numbers else float("nan")
    return float("nan")


def numbers_of(value: Any) -> NDArray[np.float32]:
    """Return numbers per agent as an array; NaN where one is unknown."""
    try:
        return np.array(value, np.float64).astype(np.float32)  # None becomes NaN
    except (TypeError, ValueError):
        return np.array([], np.float32)
