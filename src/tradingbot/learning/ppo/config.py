"""Settings of PPO."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tradingbot.domain.checks import require, require_kinds
from tradingbot.learning.entropy import EntropyConfig
from tradingbot.learning.schedules import Schedule, constant
from tradingbot.networks.heads import HeadConfig


@dataclass(frozen=True)
class PPOConfig:
    """How PPO collects and learns; steps and samples are counted per agent."""

    actor: HeadConfig = field(default_factory=HeadConfig)
    critic: HeadConfig = field(default_factory=lambda: HeadConfig(output_gain=1.0))
    rollout_steps: int = 128
    """Steps per environment before each update."""
    n_epochs: int = 10
    """Passes over a rollout."""
    minibatch: int = 64
    """Samples of each agent per optimiser step; whole segments where an encoder learns."""
    discount: float = 0.99
    """γ per step."""
    decay: float = 0.95
    """λ of the advantage."""
    clip: Schedule = field(default_factory=lambda: constant(0.2))
    """How far the ratio of probabilities may move before its gradient is cut."""
    value_weight: float = 0.5
    """Weight of the value loss."""
    gradient_clip: float = 0.5
    """Largest norm of a gradient: of each agent where it has its own weights, else of all."""
    kl_stop: float = 0.015
    """An agent stops learning from a rollout when its KL divergence passes this; 0 never stops."""
    learning_rate: Schedule = field(
        default_factory=lambda: Schedule("linear", 3e-4, 1e-5, over=100_000)
    )
    """Rate of Adam, over steps per agent."""
    encoder_rate: float = 0.1
    """What the learning rate of a learning encoder is multiplied by."""
    adam_epsilon: float = 1e-5
    """Epsilon of Adam."""
    weight_decay: float = 0.0
    """Weight of ½ Σ weights² in the loss; biases and deviations are not decayed."""
    deviation_penalty: float = 1e-3
    """Weight of Σ z² of partially pooled agents in the loss; small beside advantages of deviation
    1, or agents never begin to differ."""
    entropy: EntropyConfig = field(default_factory=EntropyConfig)
    initial_std: float = 1.0
    """Of numeric actions before squashing, at first."""
    normalise_advantages: Literal["minibatch", "rollout", "none"] = "minibatch"
    """Over what each agent's advantages get mean 0 and deviation 1."""
    normalise_values: bool = True
    """Whether critics learn targets in units of their running deviation."""
    segment_bars: int = 32
    """Consecutive bars per segment where an encoder learns; must divide rollout_steps then."""
    accumulation: int = 1
    """Parts in which a minibatch is worked through, to save memory."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Format of the products while learning; weights stay float32."""
    act_levels: int = 0
    """Deterministic numbers are rounded to so many even levels; 0 leaves them as they are."""

    def __post_init__(self) -> None:
        """Refuse settings that cannot work."""
        require_kinds(self)
        for name in ("rollout_steps", "n_epochs", "minibatch", "segment_bars", "accumulation"):
            require(getattr(self, name) >= 1, f"{name} must be 1 or more", self)
        for name in ("discount", "decay"):
            require(0.0 <= getattr(self, name) <= 1.0, f"{name} must lie in [0, 1]", self)
        for name in ("value_weight", "kl_stop", "weight_decay", "deviation_penalty"):
            require(getattr(self, name) >= 0.0, f"{name} must be 0 or more", self)
        for name in ("gradient_clip", "adam_epsilon", "encoder_rate", "initial_std"):
            require(getattr(self, name) > 0.0, f"{name} must be above 0", self)
        require(
            self.normalise_advantages in ("minibatch", "rollout", "none"),
            "normalise_advantages must be minibatch, rollout or none",
            self,
        )
        require(
            self.precision in ("float32", "bfloat16"),
            "precision must be float32 or bfloat16",
            self,
        )
        require(
            self.act_levels == 0 or self.act_levels >= 2, "act_levels must be 0, or 2 or more", self
        )
