"""How direct-gradient learning is set up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.learning.schedules import Schedule
from tradingbot.networks.head_config import HeadConfig

DEVIATIONS_OF_BEFORE: Mapping[str, float] = {
    "deviation_rate": 1.0,
    "direction_rate": 1.0,
    "fold_bars": 0,
}
"""Settings that runs without them were made with: one fit of the deviations to all bars."""
Objective = Literal["log_growth", "sharpe", "reward"]


@dataclass(frozen=True)
class DirectConfig(CheckedFields):
    """Everything about direct-gradient learning that is not the task."""

    actor: HeadConfig = field(default_factory=lambda: HeadConfig(hidden=(64,)))
    objective: Objective = "log_growth"
    """`log_growth`: of wealth, in basis points per bar. `sharpe`: of the log growth of each agent,
    over all bars and environments of an update, in hundredths. `reward`: the task's own, as is."""
    chunk_bars: int = bounded(64, ">= 1")
    """Bars through which gradients flow back; what is held at their end is kept, its gradient is
    not."""
    learning_rate: Schedule = field(
        default_factory=lambda: Schedule("cosine", 3e-3, 0.0, over=153_600)
    )
    """Of Adam, by steps per agent; by default 150 updates of 64 bars in 16 environments."""
    weight_decay: float = bounded(0.01, "[0, inf)")
    """Of all weights but the agents' deviations; L2, as Adam adds it to the gradient."""
    deviation_penalty: float = bounded(0.1, "[0, inf)")
    """Weight of Σ z², mean over agents, where the actor is partially pooled; in units of the
    objective."""
    deviation_rate: float = bounded(1.0, "(0, inf)")
    """Learning rate of the agents' deviations ÷ that of everything else. Adam moves a weight by
    its rate at most in an update: what one agent learns needs another pace than what all share."""
    direction_rate: float = bounded(1.0, "(0, inf)")
    """Learning rate of the directions in which agents may differ ÷ that of everything else."""
    fold_bars: int = bounded(0, ">= 0")
    """Bars of the blocks that belong by turns to two folds: deviations are fitted to each, tested
    on the other, and kept as far as both agree. 0: one fit to all bars, kept as it is."""
    max_gradient_norm: float = bounded(1.0, ">= 0")
    """Of the whole gradient; 0 does not clip."""
    squash_gain: float = bounded(4.0, "(0, inf)")
    """Action = low + (high − low) · sigmoid(gain · output)."""
    act_levels: int = bounded(2, "0 or >= 2")
    """Deterministic actions are rounded to so many levels from low to high, 2 being the two ends;
    0 does not round. Small changes cost more than they earn."""
    noise: float = bounded(0.0, "[0, inf)")
    """Standard deviation of what `sample` adds to the output before it is squashed, times the gain.
    Learning itself draws nothing: the gradient needs no exploration."""
