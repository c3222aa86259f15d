"""How a number changes while training goes on: pure functions of the steps made so far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tradingbot.domain.checks import CheckedFields, bounded


@dataclass(frozen=True)
class Schedule(CheckedFields):
    """A number that is held, then moves from `first` to `last`, then stays there.

    Example:
        >>> entropy = Schedule("linear", 0.08, 0.03, hold=10_000, over=40_000)
        >>> entropy.at(0), entropy.at(10_000), round(entropy.at(30_000), 4), entropy.at(90_000)
        (0.08, 0.08, 0.055, 0.03)
    """

    kind: Literal["constant", "linear", "cosine"] = "constant"
    """How the number moves: not at all, evenly, or by half a cosine."""
    first: float = bounded(0.0, "[0, inf)")
    """The number at the beginning: a rate, a weight or a width, so never below 0."""
    last: float = bounded(0.0, "[0, inf)")
    """The number at the end; a constant never gets there."""
    hold: int = bounded(0, ">= 0")
    """Steps per agent during which nothing changes."""
    over: int = bounded(1, ">= 1")
    """Steps per agent that the change takes."""

    @classmethod
    def from_plain(cls, value: object) -> Schedule | None:
        """Read a plain number as a schedule that never changes; None for anything else."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return cls("constant", float(value), float(value)) if is_number else None  # type: ignore[arg-type]

    def at(self, steps: float) -> float:
        """Return the number after so many steps."""
        if self.kind == "constant":
            return self.first
        progress = min(max((steps - self.hold) / self.over, 0.0), 1.0)
        if self.kind == "cosine":
            progress = 0.5 * (1.0 - math.cos(math.pi * progress))
        # Written so that both ends are met to the last bit.
        return (1.0 - progress) * self.first + progress * self.last


def constant(number: float) -> Schedule:
    """Return a number that never changes."""
    return Schedule("constant", number, number)
