"""Settings of the entropy bonus and of its guard; read without torch. See `entropy.py`."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.learning.schedules import Schedule


@dataclass(frozen=True)
class EntropyConfig(CheckedFields):
    """The entropy bonus and what watches over it."""

    coefficient: Schedule = field(
        default_factory=lambda: Schedule("linear", 0.08, 0.03, hold=10_000, over=40_000)
    )
    """Weight of the entropy, in nats, in the loss."""
    target: float = bounded(0.55, "[0, 1]")
    """Normalised entropy toward which the bonus adapts; 0 turns adapting off."""
    scale: float = bounded(0.35, "(0, inf)")
    """How far below the target the normalised entropy must fall to double the bonus."""
    max_factor: float = bounded(3.0, ">= 1")
    """The most that adapting multiplies the bonus by."""
    floor: float = bounded(0.02, "[0, inf)")
    """The least coefficient after adapting; not above the schedule's own."""
    warm_up: int = bounded(0, ">= 0")
    """Steps per agent before the bonus adapts; until then it is the schedule's."""
    decay: float = bounded(1.0, "(0, 1]")
    """Share by which the bonus comes down per update towards what a risen entropy asks for; 1: at
    once. It always goes up at once."""
    guard_entropy: float = bounded(0.22, "[0, 1]")
    """The guard acts below this normalised entropy; 0 turns it off."""
    guard_warm_up: int = bounded(4_000, ">= 0")
    """Steps per agent before the guard watches."""
    guard_boost: float = bounded(1.7, "(1, inf)")
    """What the guard multiplies the bonus by each time."""
    guard_max_boost: float = bounded(3.0, ">= 1")
    """The most that the guard multiplies it by in all."""
    guard_cooldown: int = bounded(6_000, ">= 0")
    """Steps per agent between two interventions."""
    guard_patience: int = bounded(2, ">= 1")
    """Updates in a row below it before the guard acts."""
    guard_halts: bool = False
    """Whether training halts where an agent stays below it at full boost, for `guard_patience`
    updates more and a cooldown after the last boost."""
