"""How much undecidedness is paid for: schedule, adaptive bonus and guard, per agent.

Spreads are on the scale from 0 (decided) to 1 (anything goes) of `networks/distributions.py`.
Everything is a pure function of (N,) tensors and the number of steps; `EntropyState` is part of a
learner's state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.learning.schedules import Schedule


@dataclass(frozen=True)
class EntropyConfig(CheckedFields):
    """The entropy bonus and what watches over it."""

    coefficient: Schedule = field(
        default_factory=lambda: Schedule("linear", 0.08, 0.03, hold=10_000, over=40_000)
    )
    """Weight of the entropy, in nats, in the loss."""
    target: float = bounded(0.55, "[0, 1]")
    """Spread toward which the bonus adapts; 0 turns adapting off."""
    scale: float = bounded(0.35, "> 0")
    """How far below the target the normalised entropy must fall to double the bonus."""
    max_factor: float = bounded(3.0, ">= 1")
    """The most that adapting multiplies the bonus by."""
    floor: float = bounded(0.02, ">= 0")
    """The least coefficient after adapting; not above the schedule's own."""
    guard_entropy: float = bounded(0.22, "[0, 1]")
    """The guard acts below this normalised entropy; 0 turns it off."""
    guard_warm_up: int = bounded(4_000, ">= 0")
    """Steps per agent before the guard watches."""
    guard_boost: float = bounded(1.7, "> 1")
    """What the guard multiplies the bonus by each time."""
    guard_max_boost: float = bounded(3.0, ">= 1")
    """The most that the guard multiplies it by in all."""
    guard_cooldown: int = bounded(6_000, ">= 0")
    """Steps per agent between two interventions."""
    guard_patience: int = bounded(2, ">= 1")
    """Updates in a row below it before the guard acts."""
    guard_halts: bool = False
    """Whether an agent that stays below it at full boost asks to halt."""


class EntropyState(NamedTuple):
    """What the guard remembers of N agents."""

    normalised_entropy: Tensor
    """(N,) as last measured; 1 before."""
    boost: Tensor
    """(N,) what the guard multiplies the bonus by, 1 or more."""
    low_updates: Tensor
    """(N,) int64, updates in a row below the guard's limit."""
    last_change: Tensor
    """(N,) int64, steps per agent at the guard's last intervention; far in the past before."""
    halts: Tensor
    """(N,) bool, whether an agent asks to halt."""


def begin_entropy(n_agents: int, device: torch.device | str = "cpu") -> EntropyState:
    """Return the state before anything was measured."""
    return EntropyState(
        torch.ones(n_agents, device=device),
        torch.ones(n_agents, device=device),
        torch.zeros(n_agents, dtype=torch.int64, device=device),
        torch.full((n_agents,), -(2**40), dtype=torch.int64, device=device),
        torch.zeros(n_agents, dtype=torch.bool, device=device),
    )


def entropy_coefficient(config: EntropyConfig, state: EntropyState, steps: int) -> Tensor:
    """Return the weight of the entropy of each agent, (N,): schedule × adapting × guard.

    Below the target the bonus grows by one times itself per `scale`, above it shrinks alike,
    within [floor, max_factor × schedule].
    """
    scheduled = config.coefficient.at(steps)
    if config.target > 0.0:
        factor = 1.0 + (config.target - state.normalised_entropy) / config.scale
        adapted = scheduled * factor.clamp(0.0, config.max_factor)
        adapted = adapted.clamp_min(min(config.floor, scheduled))
    else:
        adapted = torch.full_like(state.normalised_entropy, scheduled)
    return adapted * state.boost


def watch_entropy(
    config: EntropyConfig, state: EntropyState, normalised_entropy: Tensor, steps: int
) -> EntropyState:
    """Take the normalised entropies (N,) of an update into account; the guard acts where it must.

    The guard boosts after `guard_patience` updates in a row below `guard_entropy`, at most once per
    cooldown. A boost ends when the entropy has come back to the target and the cooldown is over. An
    entropy that is not a number counts as fallen.
    """
    falls = ~(normalised_entropy >= config.guard_entropy) & (steps >= config.guard_warm_up)
    falls &= config.guard_entropy > 0.0
    low_updates = torch.where(falls, state.low_updates + 1, 0)
    rested = steps - state.last_change >= config.guard_cooldown
    acts = (low_updates >= config.guard_patience) & rested
    exhausted = state.boost >= config.guard_max_boost
    boosted = (state.boost * config.guard_boost).clamp_max(config.guard_max_boost)
    recovered = (normalised_entropy >= config.target) & rested & (state.boost > 1.0)
    boost = torch.where(acts, boosted, torch.where(recovered, 1.0, state.boost))
    return EntropyState(
        normalised_entropy,
        boost,
        torch.where(acts, 0, low_updates),
        torch.where(acts | recovered, steps, state.last_change),
        acts & exhausted & config.guard_halts,
    )
