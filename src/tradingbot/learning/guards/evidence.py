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


def idle_share(history: History) -> Tensor:
    """Return the share of steps without a deed (U, N), of deterministic play if any."""
    played = history["eval/idle_share"]
    return torch.where(played.isnan(), history["rollout/idle_share"], played)


def exploring_pays(history: History) -> Tensor:
    """Return where exploring earns more than doing nothing would, (U, N) bool."""
    gain = history["rollout/reward_mean"] - history["eval/idle_reward"].nan_to_num(0.0)
    return gain > _ERRORS * history["rollout/reward_error"]


def policy_pays(history: History) -> Tensor:
    """Return where the deterministic policy earns more than doing nothing would, (U, N) bool."""
    gain = history["eval/reward_mean"] - history["eval/idle_reward"].nan_to_num(0.0)
    return gain > _ERRORS * history["eval/reward_error"]


def stays_out(history: History, config: GuardConfig) -> Tensor:
    """Return where an agent does nothing by choice and at no cost to itself, (U, N) bool.

    Its deterministic policy does nothing; what it selects is carried out (nobody stops it from
    trading); doing nothing earns no less; and its own exploration finds nothing that earns more.
    """
    if not config.flat_is_allowed:
        return torch.zeros_like(history["rollout/idle_share"], dtype=torch.bool)
    idle = history["eval/idle_reward"].nan_to_num(0.0)
    loss = idle - history["eval/reward_mean"].nan_to_num(-torch.inf)
    no_loss = loss <= _ERRORS * history["eval/reward_error"].nan_to_num(0.0)
    stopped = history["rollout/unexecuted_share"] > config.unexecuted
    return (idle_share(history) >= config.idle) & no_loss & ~stopped & ~exploring_pays(history)


def decided(history: History, config: GuardConfig) -> Tensor:
    """Return where deterministic actions differ from state to state, (U, N) bool."""
    return history["eval/entropy"] >= config.varied
