"""How much undecidedness is paid for: schedule, adaptive bonus and guard, per agent.

Entropies that are compared with limits are normalised: from 0 (decided) to 1 (anything goes), as
`networks/distributions.py` defines them, so that one limit serves seven codes and numbers alike.
The specification's 0.55 and 0.22 are read on this scale: of seven codes, 1.07 and 0.43 nats. In the
loss the entropy counts in nats.
Everything is a pure function of (N,) tensors and the number of steps; `EntropyState` is part of a
learner's state.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.learning.entropy_config import EntropyConfig


class EntropyState(NamedTuple):
    """What the guard remembers of N agents."""

    normalised_entropy: Tensor
    """(N,) that the bonus adapts by: as last measured, or on the way there where it rose and
    `decay` is below 1; 1 before the first."""
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
    within [floor, max_factor × schedule]; not before `warm_up`.
    """
    scheduled = config.coefficient.at(steps)
    if config.target > 0.0 and steps >= config.warm_up:
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
    before = state.normalised_entropy
    rises = normalised_entropy > before
    eased = torch.lerp(before, normalised_entropy, config.decay)
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
        torch.where(rises, eased, normalised_entropy),
        boost,
        torch.where(acts, 0, low_updates),
        torch.where(acts | recovered, steps, state.last_change),
        acts & exhausted & config.guard_halts,
    )
