"""How direct-gradient learning is set up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tradingbot.domain.checks import require, require_kinds
from tradingbot.learning.schedules import Schedule
from tradingbot.networks.heads import HeadConfig

Objective = Literal["log_growth", "sharpe", "reward"]


@dataclass(frozen=True)
class DirectConfig:
    """Everything about direct-gradient learning that is not the task."""

    actor: HeadConfig = field(default_factory=lambda: HeadConfig(hidden=(64,)))
    objective: Objective = "log_growth"
    """`log_growth`: of wealth, in basis points per bar. `sharpe`: of the log growth of each agent,
    over all bars and environments of an update, in hundredths. `reward`: the task's own, as is."""
    chunk_bars: int = 64
    """Bars through which gradients flow back; what is held at their end is kept, its gradient is
    not."""
    learning_rate: Schedule = field(
        default_factory=lambda: Schedule("cosine", 3e-3, 0.0, over=153_600)
    )
    """Of Adam, by steps per agent; by default 150 updates of 64 bars in 16 environments."""
    weight_decay: float = 0.01
    """Of all weights but the agents' deviations; L2, as Adam adds it to the gradient."""
    deviation_penalty: float = 0.1
    """Weight of Σ z², mean over agents, where the actor is partially pooled; in units of the
    objective."""
    max_gradient_norm: float = 1.0
    """Of the whole gradient; 0 does not clip."""
    squash_gain: float = 4.0
    """Action = low + (high − low) · sigmoid(gain · output)."""
    act_levels: int = 2
    """Deterministic actions are rounded to so many levels from low to high, 2 being the two ends;
    0 does not round. Small changes cost more than they earn."""
    noise: float = 0.0
    """Standard deviation of what `sample` adds to the output before it is squashed, times the gain.
    Learning itself draws nothing: the gradient needs no exploration."""

    def __post_init__(self) -> None:
        """Refuse what cannot be learned with."""
        require_kinds(self)
        require(
            self.objective in ("log_growth", "sharpe", "reward"),
            "objective must be log_growth, sharpe or reward",
            self,
        )
        require(self.chunk_bars >= 1, "chunk_bars must be 1 or more", self)
        for name in ("weight_decay", "deviation_penalty", "max_gradient_norm", "noise"):
            require(getattr(self, name) >= 0.0, f"{name} must be 0 or more", self)
        require(self.squash_gain > 0.0, "squash_gain must be above 0", self)
        require(
            self.act_levels == 0 or self.act_levels >= 2,
            "act_levels must be 0, or 2 or more",
            self,
        )
