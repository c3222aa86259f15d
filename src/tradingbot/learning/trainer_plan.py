"""What the trainer is told: budget, when to evaluate and save, and what to try after a collapse."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradingbot.domain.checks import require, require_kinds
from tradingbot.learning.early_stopping import StoppingConfig


@dataclass(frozen=True)
class TrainPlan:
    """How long to train, and what happens on the way. Counted in updates, never in seconds."""

    steps_per_agent: int = 100_000
    """Environment steps of each agent, over all its environments, after which training ends."""
    evaluate_every: int = 10
    """Updates between evaluations on the validation part."""
    save_every: int = 10
    """Updates between checkpoints."""
    score: str = "sharpe"
    """Figure of the evaluation, (N,), by which agents stop and the best weights are chosen."""
    stopping: StoppingConfig = field(default_factory=StoppingConfig)
    max_rollbacks: int = 3
    """Returns to an earlier checkpoint because of weights that are not finite numbers, after which
    training fails instead; returns that the flight recorder decides on have limits of their own."""
    rollback_rate_factor: float = 0.5
    """Multiplies the learning rate after each such return: the same settings would fail again."""

    def __post_init__(self) -> None:
        """Refuse a plan that cannot be followed."""
        require_kinds(self)
        require(self.steps_per_agent >= 1, "steps_per_agent must be 1 or more", self)
        require(self.evaluate_every >= 1, "evaluate_every must be 1 update or more", self)
        require(self.save_every >= 1, "save_every must be 1 update or more", self)
        require(self.max_rollbacks >= 0, "max_rollbacks must be 0 or more", self)
        require(
            0.0 < self.rollback_rate_factor <= 1.0,
            "rollback_rate_factor must lie in (0, 1]",
            self,
        )
