"""How an expert is imitated: how much is watched, how it is learned, and what counts as alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tradingbot.domain.checks import require, require_kinds


@dataclass(frozen=True)
class CloningConfig:
    """Length and pace of behaviour cloning."""

    updates: int = 20
    """Rounds of watching and learning; the learning rate falls to 0 over them."""
    steps: int = 64
    """Steps of every environment that are watched per update."""
    epochs: int = 4
    """Passes over what was watched, per update."""
    minibatches: int = 4
    """Optimiser steps per pass."""
    learning_rate: float = 3e-3
    """Highest rate of AdamW; cosine to 0."""
    weight_decay: float = 0.01
    """Decoupled weight decay of AdamW."""
    max_gradient_norm: float = 1.0
    """Norm that gradients are clipped to."""
    deviation_penalty: float = 0.01
    """Weight of Σ z² of partially pooled agents: they differ only where the expert does."""
    balance: float = 0.0
    """Codes count by frequency to the power of minus this, per agent: 0 as they come, 1 all alike.
    An expert that mostly waits is copied by waiting unless rare codes count for more."""
    number_loss: Literal["huber", "log_prob"] = "huber"
    """`huber` moves the mean and leaves the deviation as it is, so that exploration survives;
    `log_prob` is the likelihood of the expert's numbers and needs an actor with a deviation."""
    huber_width: float = 0.1
    """Difference, as a share of the range, up to which the loss is quadratic."""
    squash_gain: float = 4.0
    """Of actors with one output: action = low + range · sigmoid(gain · output)."""
    tolerance_frac: float = 0.1
    """Numbers that differ by no more than this share of the range are alike."""
    student_frac: float = 0.0
    """Share of the steps in which the actor acts while the expert says what it would do (DAgger,
    Ross et al. 2011): what follows its own mistakes is then seen too."""
    train_view: bool = False
    """Whether a view that can learn does so here; else its embeddings are taken as they are."""

    def __post_init__(self) -> None:
        """Refuse what cannot be learned."""
        require_kinds(self)
        for name in ("updates", "steps", "epochs", "minibatches"):
            require(getattr(self, name) >= 1, f"{name} must be 1 or more", self)
        for name in ("learning_rate", "max_gradient_norm", "huber_width", "squash_gain"):
            require(getattr(self, name) > 0.0, f"{name} must be above 0", self)
        for name in ("weight_decay", "deviation_penalty"):
            require(getattr(self, name) >= 0.0, f"{name} must be 0 or more", self)
        for name in ("balance", "student_frac", "tolerance_frac"):
            require(0.0 <= getattr(self, name) <= 1.0, f"{name} must lie in [0, 1]", self)
        require(
            self.number_loss in ("huber", "log_prob"),
            "number_loss must be huber or log_prob",
            self,
        )
