"""What the trainer is told: budget, and when to evaluate, to save and to stop."""

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

    def __post_init__(self) -> None:
        """Refuse a plan that cannot be followed."""
        require_kinds(self)
        require(self.steps_per_agent >= 1, "steps_per_agent must be 1 or more", self)
        require(self.evaluate_every >= 1, "evaluate_every must be 1 update or more", self)
        require(self.save_every >= 1, "save_every must be 1 update or more", self)
