"""Settings of curiosity; read without torch."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.networks.head_config import Pooling, require_widths


@dataclass(frozen=True)
class CuriosityConfig(CheckedFields):
    """The intrinsic bonus beside the task's reward; off unless `mix` is above 0."""

    mix: float = bounded(0.0, "[0, 1)")
    """Share of the bonus in what is learned from: (1 − mix) · reward + mix · bonus, the bonus in
    units of the reward's deviation. 0 turns curiosity off; the plan's are 0.1, and 0.03 where a
    Sharpe ratio is aimed for."""
    max_share: float = bounded(0.1, "(0, 1)")
    """The most that bonuses make up of all that was paid since training began; above it they are
    scaled down."""
    n_features: int = bounded(128, ">= 1")
    """Width of what the encoder makes of an observation."""
    hidden: tuple[int, ...] = (128,)
    """Hidden layers of the encoder and of both models."""
    pooling: Pooling = "independent"
    """Whether every agent has models of its own, or all share one."""
    forward_weight: float = bounded(0.2, "(0, 1)")
    """β, weight of the forward model's loss; that of the inverse model is 1 − β."""
    error_scale: float = bounded(0.01, "(0, inf)")
    """η, what half the squared error of the forward model is multiplied by. Bonuses are divided by
    its running deviation, or by 0.0001 where that is less: η says how small errors must become for
    curiosity to fade."""
    normalisation_rate: float = bounded(0.01, "(0, 1]")
    """α, what one step counts for in the running mean and deviation of errors."""
    bonus_clip: float = bounded(5.0, "(0, inf)")
    """Bonuses lie within ± this many deviations."""
    learning_rate: float = bounded(1e-4, "(0, inf)")
    """Rate of AdamW."""
    weight_decay: float = bounded(0.01, "[0, inf)")
    """Decay of AdamW, of all weights."""
    warm_up: int = bounded(1_000, ">= 0")
    """Steps per agent in which models learn and no bonus is paid."""
    batches: int = bounded(4, ">= 1")
    """Optimiser steps per update of the learner …"""
    batch_size: int = bounded(256, ">= 1")
    """… and transitions of each agent in one; no more than the update collected."""

    def __post_init__(self) -> None:
        """Refuse hidden layers that cannot be."""
        super().__post_init__()
        require_widths(self.hidden, self)
