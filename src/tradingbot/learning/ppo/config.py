"""Settings of PPO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.learning.entropy_config import EntropyConfig
from tradingbot.learning.schedules import Schedule, constant
from tradingbot.networks.head_config import HeadConfig


@dataclass(frozen=True)
class PPOConfig(CheckedFields):
    """How PPO collects and learns; steps and samples are counted per agent."""

    actor: HeadConfig = field(default_factory=HeadConfig)
    critic: HeadConfig = field(default_factory=lambda: HeadConfig(output_gain=1.0))
    rollout_steps: int = bounded(128, ">= 1")
    """Steps per environment before each update."""
    paired_envs: int = bounded(1, ">= 1")
    """Environments that play the same bars: an action counts by how much better it did than the
    mean of the others there, so that what the market did is no noise. Must divide the environments;
    1 is off."""
    n_epochs: int = bounded(10, ">= 1")
    """Passes over a rollout."""
    minibatch: int = bounded(64, ">= 1")
    """Samples of each agent per optimiser step; whole segments where an encoder learns."""
    discount: float = bounded(0.99, "[0, 1]")
    """γ per step."""
    decay: float = bounded(0.95, "[0, 1]")
    """λ of the advantage."""
    clip: Schedule = field(default_factory=lambda: constant(0.2))
    """How far the ratio of probabilities may move before its gradient is cut."""
    value_weight: float = bounded(0.5, "[0, inf)")
    """Weight of the value loss."""
    gradient_clip: float = bounded(0.5, "> 0")
    """Largest norm of a gradient: of each agent where it has its own weights, else of all."""
    kl_stop: float = bounded(0.015, ">= 0")
    """An agent stops learning from a rollout when its KL divergence passes this; 0 never stops."""
    learning_rate: Schedule = field(
        default_factory=lambda: Schedule("linear", 3e-4, 1e-5, over=100_000)
    )
    """Rate of Adam, over steps per agent."""
    encoder_rate: float = bounded(0.1, "(0, inf)")
    """What the learning rate of a learning encoder is multiplied by."""
    adam_epsilon: float = bounded(1e-5, "(0, inf)")
    """Epsilon of Adam."""
    weight_decay: float = bounded(0.0, "[0, inf)")
    """Weight of ½ Σ weights² in the loss; biases and deviations are not decayed."""
    deviation_penalty: float = bounded(1e-3, "[0, inf)")
    """Weight of Σ z² of partially pooled agents in the loss; small beside advantages of deviation
    1, or agents never begin to differ."""
    entropy: EntropyConfig = field(default_factory=EntropyConfig)
    initial_std: float = bounded(1.0, "(0, inf)")
    """Of numeric actions before squashing, at first."""
    min_std: Schedule = field(default_factory=lambda: constant(0.0))
    """Least deviation of numeric actions while learning: √(std² + this²) is drawn with. Else
    policies that see their gains clearly cease to explore before they know enough; 0 is off."""
    normalise_advantages: Literal["minibatch", "rollout", "none"] = "minibatch"
    """Over what each agent's advantages get mean 0 and deviation 1."""
    normalise_values: bool = True
    """Whether critics learn targets in units of their running deviation."""
    segment_bars: int = bounded(32, ">= 1")
    """Consecutive bars per segment where an encoder learns; must divide rollout_steps then."""
    accumulation: int = bounded(1, ">= 1")
    """Parts in which a minibatch is worked through, to save memory."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Format of the products while learning; weights stay float32."""
    act_levels: int = bounded(0, "0 or >= 2")
    """Deterministic numbers are rounded to so many even levels; 0 leaves them as they are."""


_SPEC = PPOConfig(rollout_steps=2048)
_MARKET = PPOConfig(
    # Two years of hourly bars: a small head overfits later.
    actor=HeadConfig(hidden=(64,)),
    critic=HeadConfig(hidden=(64,), output_gain=1.0),
    rollout_steps=64,
    n_epochs=4,
    minibatch=512,
    # A signal of some ten bars: a longer horizon only adds noise to the advantages.
    discount=0.9,
    decay=0.9,
    gradient_clip=1.0,
    kl_stop=0.0,
    # To nothing within 120 updates of 32 environments.
    learning_rate=Schedule("cosine", 3e-3, 0.0, over=245_760),
    # Advantages have deviation 1 and the signal is a few hundredths of it: what shrinks weights
    # must be smaller still, or the directions are gone before agents begin to differ.
    weight_decay=5e-4,
    deviation_penalty=1e-3,
    entropy=EntropyConfig(coefficient=constant(0.003), target=0.0, floor=0.0, guard_entropy=0.0),
    normalise_advantages="rollout",
    # Holding a little more or less earns nothing and pays costs.
    act_levels=2,
)
PPO_PRESETS: Mapping[str, PPOConfig] = MappingProxyType({"spec": _SPEC, "market": _MARKET})
"""`spec`: the specification's numbers, for 8 environments. `market`: tuned on planted edge, with 32
environments of each agent and 120 updates."""
