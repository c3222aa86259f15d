"""Events of training. Nothing here knows what is learned: agents have names and scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tradingbot.domain.events.event import Event, Figures, wall_time

Ending = Literal["budget", "all_stopped", "interrupted"]
Label = Literal["start", "last", "best", "final", "healthy"]


@dataclass(frozen=True)
class Began(Event):
    """Training begins, or goes on after a restart."""

    agents: tuple[str, ...]
    steps: int
    """Per agent, done before."""
    steps_per_agent: int
    """The budget."""


@dataclass(frozen=True)
class Updated(Event):
    """One update was made."""

    sequence: int
    """Updates made in this run, those that were rolled back included: it only ever rises."""
    updates: int
    """Updates behind the present weights."""
    steps: int
    """Environment steps per agent behind the present weights."""
    metrics: Figures
    seconds: float = wall_time()
    """Wall time of the update."""


@dataclass(frozen=True)
class Evaluated(Event):
    """The deterministic policy was played on the validation part."""

    sequence: int
    steps: int
    scores: Figures
    mean_score: float
    """Mean over the agents of the score that counts."""
    is_best: bool


@dataclass(frozen=True)
class Warned(Event):
    """The flight recorder found something that it had not told after the update before."""

    sequence: int
    text: str
    """What was seen of the first agent, and what to do."""
    agents: tuple[str, ...]
    """Of which it was found."""


@dataclass(frozen=True)
class Intervened(Event):
    """A remedy was carried out."""

    sequence: int
    action: Literal["boost_entropy", "pause", "roll_back"]
    text: str


@dataclass(frozen=True)
class AgentsStopped(Event):
    """Agents whose score no longer rises."""

    sequence: int
    agents: tuple[str, ...]


@dataclass(frozen=True)
class SleevesCompared(Event):
    """Agents of a portfolio's sleeves learned with the master, and met their frozen selves."""

    updates: int
    """Of the master, behind its present weights."""
    agents: tuple[str, ...]
    """N names."""
    figures: Figures
    """(N,) each, mean alpha net of costs in basis points per bar on the first half of validation:
    `frozen`, `joint`, `difference` with the ends of its 95 % interval, `low` and `high`; `kept`: 1
    where what was learned stays, 0 where it was rolled back."""


@dataclass(frozen=True)
class Saved(Event):
    """A checkpoint was written."""

    sequence: int
    labels: tuple[Label, ...]


@dataclass(frozen=True)
class Ended(Event):
    """Training ended."""

    sequence: int
    steps: int
    ending: Ending
    best_mean_score: float
    rollbacks: int
