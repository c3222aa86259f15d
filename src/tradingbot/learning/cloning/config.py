"""How an expert is imitated: how much is watched, how it is learned, and what counts as alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tradingbot.domain.checks import CheckedFields, bounded


@dataclass(frozen=True)
class CloningConfig(CheckedFields):
    """Length and pace of behaviour cloning."""

    updates: int = bounded(20, ">= 1")
    """Rounds of watching and learning; the learning rate falls to 0 over them."""
    steps: int = bounded(64, ">= 1")
    """Steps of every environment that are watched per update."""
    epochs: int = bounded(4, ">= 1")
    """Passes over what was watched, per update."""
    minibatches: int = bounded(4, ">= 1")
    """Optimiser steps per pass."""
    learning_rate: float = bounded(3e-3, "(0, inf)")
    """Highest rate of AdamW; cosine to 0."""
    weight_decay: float = bounded(0.01, "[0, inf)")
    """Decoupled weight decay of AdamW."""
    max_gradient_norm: float = bounded(1.0, "> 0")
    """Norm that gradients are clipped to."""
    deviation_penalty: float = bounded(0.01, "[0, inf)")
    """Weight of Σ z² of partially pooled agents: they differ only where the expert does."""
    balance: float = bounded(0.0, "[0, 1]")
    """Codes count by frequency to the power of minus this, per agent: 0 as they come, 1 all alike.
    An expert that mostly waits is copied by waiting unless rare codes count for more."""
    number_loss: Literal["huber", "log_prob"] = "huber"
    """`huber` moves the mean and leaves the deviation as it is, so that exploration survives;
    `log_prob` is the likelihood of the expert's numbers and needs an actor with a deviation."""
    huber_width: float = bounded(0.1, "(0, inf)")
    """Difference, as a share of the range, up to which the loss is quadratic."""
    squash_gain: float = bounded(4.0, "(0, inf)")
    """Of actors with one output: action = low + range · sigmoid(gain · output)."""
    tolerance_frac: float = bounded(0.1, "[0, 1]")
    """Numbers that differ by no more than this share of the range are alike."""
    student_frac: float = bounded(0.0, "[0, 1]")
    """Share of the steps in which the actor acts while the expert says what it would do (DAgger,
    Ross et al. 2011): what follows its own mistakes is then seen too."""
    train_view: bool = False
    """Whether a view that can learn does so here; else its embeddings are taken as they are."""
