"""What the trainer asks of its surroundings: checkpoints and callbacks.

The trainer touches no file and no clock but a stopwatch. What it says are the events of
`domain.events.training`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tradingbot.domain.events.event import Event
from tradingbot.domain.events.training import Label

if TYPE_CHECKING:
    from torch import Tensor

Figures = Mapping[str, "Tensor"]
"""Name → (N,), () or (N, bins), on the CPU."""


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
    updated: Callable[[int], None] = lambda _updates: None
    """Told the number of every update that stands, before it is evaluated or saved; what it changes
    must be part of the learner's state."""
