"""How hierarchical SAC is set up: the plan's figures as defaults."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.learning.hindsight_config import HindsightConfig
from tradingbot.learning.schedules import Schedule, constant
from tradingbot.networks.head_config import HeadConfig


def _low_level() -> HeadConfig:
    return HeadConfig(hidden=(256, 128), activation="relu")


def _controller() -> HeadConfig:
    return HeadConfig(hidden=(256,), activation="relu")


@dataclass(frozen=True)
class HierarchicalSACConfig(CheckedFields):
    """Everything about hierarchical SAC that is neither the task nor its options."""

    actor: HeadConfig = field(default_factory=_low_level)
    """Of the low level, which corrects what an option proposes."""
    critic: HeadConfig = field(default_factory=_low_level)
    """Of each of the low level's two critics."""
    controller: HeadConfig = field(default_factory=_controller)
    """Of what chooses among options, and of each of its two critics."""
    learning_rate: Schedule = field(default_factory=lambda: constant(3e-4))
    """Of the low level, by steps per agent."""
    controller_rate: float = bounded(1e-4, "(0, inf)")
    """Learning rate of the controller and its critics."""
    temperature_rate: float = bounded(3e-4, "(0, inf)")
    """Learning rate of the logarithms of both temperatures."""
    buffer_size: int = bounded(50_000, ">= 1")
    """Steps of each agent that are kept, and options that ended."""
    warm_up: int = bounded(1_000, ">= 0")
    """Steps per agent with options and corrections drawn at random, before anything is learned."""
    batch_size: int = bounded(128, ">= 1")
    """Steps, and options, of each agent in a gradient step."""
    target_rate: float = bounded(0.005, "(0, 1]")
    """τ, how far target critics move towards the critics in each gradient step."""
    discount: float = bounded(0.99, "[0, 1)")
    """γ per step."""
    steps_per_update: int = bounded(64, ">= 1")
    """Steps of all environments that one update makes."""
    gradient_steps: int = bounded(1, ">= 1")
    """After each step of all environments."""
    temperature: float = bounded(1.0, "(0, inf)")
    """α of both levels at the beginning; in units of the scaled reward per nat."""
    target_normalised_entropy: float = bounded(0.35, "(0, 1)")
    """Entropy of corrections that the low level's temperature aims at, as a share of the range."""
    controller_entropy: float = bounded(0.7, "(0, 1)")
    """Entropy of choices that the controller's temperature aims at: share of the logarithm of the
    number of options available."""
    reach: float = bounded(0.1, "[0, 2]")
    """Largest correction of what an option proposes; 0: options as they are, and no low level."""
    hindsight: HindsightConfig = field(default_factory=HindsightConfig)
    """Whether steps and options that missed their goal are learned from as if they had aimed
    elsewhere; for tasks with goals."""
    scale_rewards: bool = True
    """Divide each agent's rewards by their running standard deviation."""
    deviation_penalty: float = bounded(0.1, "[0, inf)")
    """Weight of Σ z² of each agent, of all heads, where they are partially pooled."""
    weight_decay: float = bounded(0.0, "[0, inf)")
    """Of all heads; L2, as Adam adds it to the gradient."""
    gradient_clip: float = bounded(0.0, ">= 0")
    """Largest norm of the gradients of all heads of all agents; 0 does not clip."""
