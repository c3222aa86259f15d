"""How gradients and evolution take turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.learning.es.config import ESConfig
from tradingbot.learning.learner_spec import LearnerSpec


@dataclass(frozen=True)
class HybridConfig(CheckedFields):
    """How long each phase is, and when its result is kept; settings of both are their sections."""

    learner: Literal["ppo", "sac", "direct"] = "ppo"
    """Which learner follows gradients; its settings are its own section."""
    gradient_steps: int = bounded(10_000, ">= 1")
    """Steps per agent that it makes, in whole updates, before weights evolve."""
    generations: int = bounded(10, ">= 1")
    """Generations of evolution strategies that follow; their settings are the section es."""
    switch_threshold: float = bounded(0.5, "[0, 1]")
    """Share of accounts that must earn more with what evolved, on bars that follow; below it, the
    weights of before are put back."""


@dataclass(frozen=True)
class HybridSettings:
    """A `HybridConfig` with the settings of the two learners."""

    turns: HybridConfig
    wrapped: LearnerSpec
    """The learner that `turns.learner` names."""
    gradient: Any
    """Its settings."""
    evolution: ESConfig
    """What is said there of an actor does not count: it is the other learner's."""

    @property
    def steps_per_update(self) -> int:
        """Steps of each environment in an update by gradients; generations take more."""
        return self.wrapped.steps_of_update(self.gradient)

    @property
    def discount(self) -> float:
        """γ per step, by which the learner by gradients values what is earned."""
        return float(getattr(self.gradient, "discount", 1.0))
