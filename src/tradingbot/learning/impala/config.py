"""Settings of IMPALA."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradingbot.domain.checks import CheckedFields, bounded, require
from tradingbot.learning.schedules import Schedule
from tradingbot.networks.head_config import HeadConfig


@dataclass(frozen=True)
class IMPALAConfig(CheckedFields):
    """How actors collect and what is learned from them; steps and samples are per agent."""

    actor: HeadConfig = field(default_factory=HeadConfig)
    critic: HeadConfig = field(default_factory=lambda: HeadConfig(output_gain=1.0))
    actors: int = bounded(8, "[1, 1024]")
    """Actors that the environments of each agent are divided among; must divide budget.n_envs."""
    in_processes: bool = True
    """Whether each actor is a process of its own, on the CPU; else they take turns in this one,
    and come to the same bits."""
    asynchronous: bool = False
    """Whether an update takes the rollouts that are there first, however old their weights are;
    else it takes one of every actor, all one update old, and a run can be repeated to the bit."""
    rollout_steps: int = bounded(100, ">= 1")
    """Steps per environment of one rollout."""
    minibatch: int = bounded(256, ">= 1")
    """Samples of each agent per optimiser step."""
    n_epochs: int = bounded(1, ">= 1")
    """Passes over a batch."""
    clip: float = bounded(0.0, "[0, 1)")
    """How far the ratio to the policy before the update may move before its gradient is cut, as in
    PPO; 0: the policy gradient as it is, which goes as far as the learning rate takes it."""
    discount: float = bounded(0.99, "[0, 1]")
    """γ per step."""
    decay: float = bounded(1.0, "[0, 1]")
    """λ of the traces; below 1 targets lean on the critic, and advantages are less noisy."""
    ratio_clip: float = bounded(1.0, "> 0")
    """ρ̄: ratios of probabilities above count as this in targets and advantages."""
    trace_clip: float = bounded(1.0, "> 0")
    """c̄: how far a later surprise counts for earlier steps, per step."""
    value_weight: float = bounded(0.5, "[0, inf)")
    """Weight of the value loss."""
    entropy_weight: float = bounded(0.01, "[0, inf)")
    """Weight of the policy's entropy in nats, beside advantages of deviation 1."""
    gradient_clip: float = bounded(40.0, "> 0")
    """Largest norm of a gradient: of each agent where it has its own weights, else of all."""
    learning_rate: Schedule = field(
        default_factory=lambda: Schedule("linear", 6e-4, 1e-5, over=100_000)
    )
    """Rate of Adam, over steps per agent."""
    weight_decay: float = bounded(0.0, "[0, inf)")
    """Weight of ½ Σ weights² in the loss; biases and deviations are not decayed."""
    deviation_penalty: float = bounded(1e-3, "[0, inf)")
    """Weight of Σ z² of partially pooled agents in the loss."""
    initial_std: float = bounded(1.0, "(0, inf)")
    """Of numeric actions before squashing, at first."""
    act_levels: int = bounded(0, "0 or >= 2")
    """Deterministic numbers are rounded to so many even levels; 0 leaves them as they are."""

    def __post_init__(self) -> None:
        super().__post_init__()
        fits = self.in_processes or not self.asynchronous
        require(fits, "asynchronous must be false unless actors are in_processes", self)
