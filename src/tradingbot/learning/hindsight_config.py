"""Settings of hindsight replay; read without torch. See `hindsight.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tradingbot.domain.checks import CheckedFields, bounded


@dataclass(frozen=True)
class HindsightConfig(CheckedFields):
    """Whether and how goals are relabelled."""

    strategy: Literal["off", "future", "episode", "random"] = "off"
    """Where other goals come from: what a later step of the same episode reached, any step of it,
    or any step of the agent's replay. `off`: goals stay as they were."""
    n_goals: int = bounded(4, ">= 1")
    """k: transitions with another goal beside each one with its own, in the mean."""

    @property
    def ratio(self) -> float:
        """Share of transitions that get another goal: k ÷ (k + 1)."""
        return self.n_goals / (self.n_goals + 1)
