"""What the trainer is told: how long to train, when to evaluate, save and stop. Without torch."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradingbot.domain.checks import CheckedFields, bounded


@dataclass(frozen=True)
class StoppingConfig(CheckedFields):
    """When an agent has had enough."""

    patience: int = bounded(0, ">= 0")
    """Evaluations in a row without a better score after which an agent stops; 0: never."""
    min_gain: float = bounded(0.0, "[0, inf)")
    """Rise of the score that counts as better."""
    first_updates: int = bounded(0, ">= 0")
    """Updates before the first score that counts: early scores are luck."""


@dataclass(frozen=True)
class TrainPlan(CheckedFields):
    """How long to train, and what happens on the way. Counted in updates, never in seconds."""

    steps_per_agent: int = bounded(100_000, ">= 1")
    """Environment steps of each agent, over all its environments, after which training ends."""
    evaluate_every: int = bounded(10, ">= 1")
    """Updates between evaluations on the validation part."""
    save_every: int = bounded(10, ">= 1")
    """Updates between checkpoints."""
    score: str = "sharpe"
    """Figure of the evaluation, (N,), by which agents stop and the best weights are chosen."""
    stopping: StoppingConfig = field(default_factory=StoppingConfig)
