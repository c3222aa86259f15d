"""Settings of learned shaping; read without torch."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.domain.checks import CheckedFields, bounded, require, require_kinds
from tradingbot.networks.head_config import Pooling, require_widths


@dataclass(frozen=True)
class ShapingConfig(CheckedFields):
    """Shaping by a learned potential; off unless `weight` is above 0."""

    weight: float = bounded(0.0, "[0, inf)")
    """Weight of γ Φ(s′) − Φ(s) beside the reward, at first; 0 turns shaping off, the plan's is
    0.1."""
    max_weight: float = bounded(0.5, "(0, inf)")
    """The most that adapting makes of it; the least is 0."""
    weight_step: float = bounded(0.01, "[0, inf)")
    """What an agent's weight rises by in an update of low entropy, and falls by in one of a high
    Sharpe ratio; 0 keeps it."""
    low_entropy: float = bounded(0.3, "[0, 1]")
    """Entropy of the histogram of an agent's actions ÷ ln(bins) below which its weight rises."""
    high_sharpe: float = bounded(1.0, "(-inf, inf)")
    """Annualised Sharpe ratio of an update's steps above which its weight falls."""
    bars_per_year: float = bounded(1764.0, "(0, 1e6]")
    """252 trading days of 7 hourly bars."""
    warm_up: int = bounded(5_000, ">= 0")
    """Steps per agent in which the potential is learned, and nothing is paid or adapted."""
    hidden: tuple[int, ...] = (32,)
    """Hidden layers of the potential."""
    pooling: Pooling = "independent"
    """Whether every agent has a potential of its own, or all share one."""
    learning_rate: float = bounded(1e-3, "(0, inf)")
    """Rate of Adam."""
    decay: float = bounded(0.95, "[0, 1]")
    """λ of the values that the potential learns."""
    batches: int = bounded(4, ">= 1")
    """Optimiser steps per update of the learner …"""
    batch_size: int = bounded(256, ">= 1")
    """… and steps of each agent in one."""

    def __post_init__(self) -> None:
        """Refuse hidden layers that cannot be, and a first weight above the largest."""
        require_kinds(self)
        require_widths(self.hidden, self)
        require(self.weight <= self.max_weight, "weight must not exceed max_weight", self)
