"""What speaks for an agent that looks collapsed: it stays out for a reason, earns, is decided.

A market without edge is best left alone. An agent that does nothing there has learned, and must not
be punished for it. The excuse needs evidence, and holds only while the evidence does.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.history import History

_ERRORS = 2.0
"""Standard errors that count as a difference."""


def is_stopped(history: History, config: GuardConfig) -> Tensor:
    """Return where what agents select is mostly not carried out, (U, N) bool."""
    return history["rollout/unexecuted_share"] > config.unexecuted


def policy_pays(history: History) -> Tensor:
    """Return where the deterministic policy earns more than doing nothing would, (U, N) bool."""
    gain = history["eval/reward_mean"] - history["eval/idle_reward"]
    return gain > _ERRORS * history["eval/reward_error"]


def noise_pays(history: History) -> Tensor:
    """Return where exploring earns more than the policy without noise, and than doing nothing."""
    earned = torch.maximum(history["eval/reward_mean"], history["eval/idle_reward"])
    error = torch.hypot(history["rollout/reward_error"], history["eval/reward_error"])
    return history["rollout/reward_mean"] - earned > _ERRORS * error


def is_resting(history: History, config: GuardConfig, share: float) -> Tensor:
    """Return where an agent does nothing, by choice and at no cost to itself, (U, N) bool.

    Its deterministic policy does nothing in at least `share` of the steps; what it selects is
    carried out, so nothing keeps it from trading; and its own exploration finds nothing that earns
    more. Without a deterministic play there is no excuse.
    """
    if not config.flat_is_allowed:
        return torch.zeros_like(history["rollout/idle_share"], dtype=torch.bool)
    idle = history["eval/idle_share"] >= share
    return idle & ~is_stopped(history, config) & ~noise_pays(history)


def is_decided(history: History, config: GuardConfig) -> Tensor:
    """Return where deterministic actions differ from state to state, (U, N) bool."""
    return history["eval/entropy"] >= config.varied
