"""How SAC is set up: SPEC's figures as defaults, and presets for what is known to work."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.learning.hindsight_config import HindsightConfig
from tradingbot.learning.schedules import Schedule, constant
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.precision import Precision

PAPER_NORMALISED_ENTROPY = math.exp(-1.0) / 2.0
"""Entropy of −1 nat on [−1, 1], the paper's target for one number, as a share of the range."""


def _head() -> HeadConfig:
    return HeadConfig(hidden=(256, 256, 128), activation="relu")


@dataclass(frozen=True)
class SACConfig(CheckedFields):
    """Everything about SAC that is not the task."""

    actor: HeadConfig = field(default_factory=_head)
    critic: HeadConfig = field(default_factory=_head)
    """Of each of the two critics."""
    learning_rate: Schedule = field(default_factory=lambda: constant(3e-4))
    """Of actor and critics, by steps per agent."""
    encoder_rate: float = bounded(0.1, "(0, inf)")
    """What the learning rate of a learning encoder is multiplied by; it learns with the critics."""
    temperature_rate: float = bounded(3e-4, "(0, inf)")
    """Learning rate of the logarithm of the temperature."""
    buffer_size: int = bounded(100_000, ">= 1")
    """Transitions of each agent that are kept."""
    warm_up: int = bounded(1_000, ">= 0")
    """Steps per agent with random actions, before anything is learned."""
    batch_size: int = bounded(256, ">= 1")
    """Transitions of each agent in a gradient step."""
    target_rate: float = bounded(0.005, "(0, 1]")
    """τ, how far target critics move towards the critics in each gradient step."""
    discount: float = bounded(0.99, "[0, 1)")
    """γ per step."""
    steps_per_update: int = bounded(64, ">= 1")
    """Steps of all environments that one update makes."""
    gradient_steps: int = bounded(1, ">= 1")
    """After each step of all environments."""
    temperature: float = bounded(1.0, "(0, inf)")
    """α at the beginning, or for good; in units of the (scaled) reward per nat."""
    tune_temperature: bool = True
    """Each agent's temperature follows its target entropy; else it stays."""
    target_normalised_entropy: float = bounded(0.35, "(0, 1)")
    """Entropy the temperature aims at, as `policy/normalised_entropy`: share of the
    action range in use. The paper's is `PAPER_NORMALISED_ENTROPY`, which the guards take for a
    collapse."""
    scale_rewards: bool = True
    """Divide each agent's rewards by their running standard deviation; a return of 1 bp is else
    too small for critics, temperature and Adam to see."""
    deviation_penalty: float = bounded(0.1, "[0, inf)")
    """Weight of Σ z² of each agent, actor and critics, where heads are partially pooled."""
    weight_decay: float = bounded(0.0, "[0, inf)")
    """Of actor and critics; L2, as Adam adds it to the gradient."""
    gradient_clip: float = bounded(0.0, ">= 0")
    """Largest norm of the gradients of actor and of critics, of all agents; 0 does not clip."""
    hindsight: HindsightConfig = field(default_factory=HindsightConfig)
    """Learn from steps towards a goal as if they had aimed at what they reached; off by default."""
    precision: Precision = "float32"
    """Of matrix products in gradient steps; losses and weights are float32 always."""
    act_levels: int = bounded(0, "0 or >= 2")
    """Deterministic actions are rounded to so many levels from low to high, 2 being the two ends;
    0 does not round. Small changes cost more than they earn."""


_TRADER = HeadConfig(hidden=(64,), activation="relu")

SAC_PRESETS: Mapping[str, SACConfig] = {
    # The paper's and SPEC's figures, rewards as they come.
    "paper": SACConfig(target_normalised_entropy=PAPER_NORMALISED_ENTROPY, scale_rewards=False),
    # Long-only target positions. Two years of hourly bars are few: small networks and decay against
    # learning noise by heart. A bar's edge is over within ten bars: γ 0.9. Rewards are in units of
    # their deviation, and of that one tenth is signal: a low temperature.
    "target": SACConfig(
        actor=_TRADER,
        critic=_TRADER,
        learning_rate=Schedule("cosine", 2e-3, 1e-4, over=24_000),
        temperature=0.02,
        temperature_rate=3e-3,
        batch_size=64,
        discount=0.9,
        deviation_penalty=1e-3,
        weight_decay=1e-3,
        act_levels=2,
    ),
}
"""Settings by name; the reason is above each."""
