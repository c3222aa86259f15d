"""What the trainer says and asks: events for those who watch, hooks for what it cannot do itself.

The trainer touches no file and no clock but a stopwatch; whoever builds it passes in how to
evaluate, where to keep checkpoints, and who listens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from torch import Tensor

Figures = Mapping[str, Tensor]
"""Name → (N,), () or (N, bins), on the CPU."""
Ending = Literal["budget", "all_stopped", "interrupted"]
Label = Literal["start", "last", "best", "final", "healthy"]


@dataclass(frozen=True)
class Began:
    """Training begins, or goes on after a restart."""

    agents: tuple[str, ...]
    steps: int
    """Per agent, done before."""
    steps_per_agent: int
    """The budget."""


@dataclass(frozen=True, eq=False)
class Updated:
    """One update was made."""

    sequence: int
    """Updates made in this run, those that were rolled back included: it only ever rises."""
    updates: int
    """Updates behind the present weights."""
    steps: int
    """Environment steps per agent behind the present weights."""
    metrics: Figures
    seconds: float
    """Wall time of the update; part of no result."""


@dataclass(frozen=True, eq=False)
class Evaluated:
    """The deterministic policy was played on the validation part."""

    sequence: int
    steps: int
    scores: Figures
    mean_score: float
    """Mean over the agents of the score that counts."""
    is_best: bool


@dataclass(frozen=True)
class Warned:
    """The flight recorder found something that it had not told after the update before."""

    sequence: int
    text: str
    """What was seen of the first agent, and what to do."""
    agents: tuple[str, ...]
    """Of whom it was found."""


@dataclass(frozen=True)
class Intervened:
    """A remedy was carried out."""

    sequence: int
    action: Literal["boost_entropy", "roll_back"]
    text: str


@dataclass(frozen=True)
class AgentsStopped:
    """Agents whose score no longer rises."""

    sequence: int
    agents: tuple[str, ...]


@dataclass(frozen=True)
class Saved:
    """A checkpoint was written."""

    sequence: int
    labels: tuple[Label, ...]


@dataclass(frozen=True, eq=False)
class Ended:
    """Training ended."""

    sequence: int
    steps: int
    ending: Ending
    best_mean_score: float
    rollbacks: int


Event = Began | Updated | Evaluated | Warned | Intervened | AgentsStopped | Saved | Ended


class Snapshot(NamedTuple):
    """What a checkpoint holds."""

    sequence: int
    updates: int
    steps: int
    tensors: dict[str, Tensor]
    """`learner/…` and `trainer/…`: everything that resuming bit for bit needs."""
    labels: tuple[Label, ...]
    """`last`, and `start`, `best` or `final` where it is one; `healthy` where training may return
    to it."""
    score: float
    """Mean score of the last evaluation; NaN before the first."""


@dataclass(frozen=True)
class Hooks:
    """What the trainer asks of its surroundings."""

    evaluate: Callable[[], Figures]
    """Play the deterministic policy on the validation part; must change nothing that learning
    depends on."""
    save: Callable[[Snapshot], None]
    load_healthy: Callable[[], Mapping[str, Tensor]]
    """Return the tensors of the newest checkpoint that is labelled healthy."""
    emit: Callable[[Event], None]
    interrupted: Callable[[], bool] = lambda: False
    """Asked between updates; true makes the trainer save and leave."""
