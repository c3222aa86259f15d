"""Settings of learned objective weights; read without torch."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.networks.head_config import Pooling, require_widths


@dataclass(frozen=True)
class ObjectivesConfig(CheckedFields):
    """Weights of the objectives of a reward that depend on the state; off unless `enabled`."""

    enabled: bool = False
    """Weigh the objectives of `task.reward` by state; it must have two or more."""
    max_weight: float = bounded(0.6, "[0.5, 1]")
    """The most that one objective weighs; what is above it goes to the others."""
    volatility: float = bounded(0.8, "[0, 1]")
    """Percentile of a bar's volatility, of its last 168 bars, from which it is high, and …"""
    risk_factor: float = bounded(1.5, "(0, inf)")
    """… the weight of risk is multiplied by this, …"""
    profit_factor: float = bounded(0.8, "(0, inf)")
    """… that of profit by this."""
    pull: float = bounded(0.05, "[0, inf)")
    """Weight of the divergence from the first weights beside the learning signal, in nats."""
    critics: bool = False
    """Estimate advantages of objectives and growth with a critic of each; else by what followed."""
    hidden: tuple[int, ...] = (32,)
    """Hidden layers of the weights, and of the critics."""
    pooling: Pooling = "independent"
    """Whether every agent has weights of its own, or all share them."""
    learning_rate: float = bounded(1e-3, "(0, inf)")
    """Rate of Adam."""
    decay: float = bounded(0.95, "[0, 1]")
    """λ of the advantages."""
    batches: int = bounded(4, ">= 1")
    """Optimiser steps per update of the learner …"""
    batch_size: int = bounded(256, ">= 1")
    """… and steps of each agent in one."""

    def __post_init__(self) -> None:
        """Refuse hidden layers that cannot be."""
        super().__post_init__()
        require_widths(self.hidden, self)
