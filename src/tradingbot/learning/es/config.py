"""How evolution strategies are set up."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradingbot.domain.checks import CheckedFields, bounded, require
from tradingbot.learning.schedules import Schedule, constant
from tradingbot.networks.head_config import HeadConfig


@dataclass(frozen=True)
class EvolutionConfig(CheckedFields):
    """How weights are varied, and how what members earn moves them."""

    population: int = bounded(256, ">= 2")
    """Members of a generation; an even number, two of each perturbation and its opposite."""
    sigma: float = bounded(0.02, "(0, inf)")
    """Standard deviation of what is added to each weight of a member."""
    learning_rate: Schedule = field(default_factory=lambda: constant(0.01))
    """Of Adam, by steps per agent."""
    weight_decay: float = bounded(0.001, "[0, inf)")
    """Of all weights but the agents' deviations; L2, as Adam adds it to the gradient."""
    elites: float = bounded(0.2, "(0, 1]")
    """Share of the members, the best, whose ranks count; 1: the ranks of all."""
    bars: int = bounded(64, ">= 1")
    """Bars that every member plays in every environment, all from the same state."""
    members_at_once: int = bounded(0, "0 or >= 2")
    """Members that are played in one tensor program, an even number; 0: all. Fewer take less
    memory: perturbations are drawn again from their seeds."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.population % 2 == 0, "population must be even", self)
        require(self.members_at_once % 2 == 0, "members_at_once must be even", self)

    @property
    def generation_steps(self) -> int:
        """Steps of each environment in one generation: of all members, and of the mean."""
        return self.bars * (self.population + 1)


@dataclass(frozen=True)
class ESConfig(EvolutionConfig):
    """Everything about evolution strategies that is not the task."""

    actor: HeadConfig = field(default_factory=lambda: HeadConfig((64,), activation="relu"))
    """Every member acts by one; tanh would take half of a generation's time on a CPU."""
    squash_gain: float = bounded(4.0, "(0, inf)")
    """Action = low + (high − low) · sigmoid(gain · output)."""
    act_levels: int = bounded(0, "0 or >= 2")
    """Actions are rounded to so many levels from low to high, while learning too: what is judged
    is what trades. 0 does not round."""
