"""Advantages over whole tensors; tests hold them to a readable loop.

Index t runs over the steps 0..S-1 of a rollout. `value_tp1[t]` is the value of the observation that
followed step t *before* any reset. An end by termination has no future: its value counts as 0. An
end by truncation has one, which we do not see: it is bootstrapped from `value_tp1`. Neither lets
rewards of the next episode flow back. The last step of a rollout bootstraps like a truncation.

A discount is one number for all steps, or one per step (S, …): what the value of the successor
counts for. Steps that take a while, such as options, are semi-Markov (Sutton, Precup & Singh 1999):
their reward is discounted within the step already, their discount is γ to the power of the time.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


def generalized_advantage(
    reward_t: Tensor,
    value_t: Tensor,
    value_tp1: Tensor,
    terminated_t: Tensor,
    truncated_t: Tensor,
    *,
    discount: float | Tensor,
    decay: float,
) -> Tensor:
    """Estimate the advantage of each action by an exponentially decayed sum of TD errors.

    Args:
        reward_t: (S, …) reward for leaving step t.
        value_t: (S, …) value at step t.
        value_tp1: (S, …) value of the successor, before any reset.
        terminated_t: (S, …) bool, nothing follows.
        truncated_t: (S, …) bool, time was up.
        discount: γ in [0, 1], or (S, …) of each step.
        decay: λ in [0, 1], per step whatever time it took.

    Returns:
        (S, …) advantage.

    Raises:
        ValueError: If the tensors do not share one shape.

    Source: Schulman et al. 2016 (arXiv:1506.02438).
    """
    _require_one_shape(reward_t, value_t, value_tp1, terminated_t, truncated_t, discount)
    advantage_t = reward_t + discount * torch.where(terminated_t, 0.0, value_tp1) - value_t
    weight_t = (~(terminated_t | truncated_t)).to(value_t.dtype) * (discount * decay)
    return _decayed_sum(advantage_t, weight_t)


class VTrace(NamedTuple):
    """What steps of an older policy say of the one that learns, (S, …) each."""

    target: Tensor
    """Values that a critic learns: v."""
    advantage: Tensor
    """Of the actions, r + γ (λ v′ + (1 − λ) V′) − V; a policy gradient counts them by the clipped
    ratio."""


def vtrace(  # noqa: PLR0913 - what is known of a step, by name
    log_ratio_t: Tensor,
    reward_t: Tensor,
    value_t: Tensor,
    value_tp1: Tensor,
    terminated_t: Tensor,
    truncated_t: Tensor,
    *,
    discount: float | Tensor,
    decay: float = 1.0,
    ratio_clip: float = 1.0,
    trace_clip: float = 1.0,
) -> VTrace:
    """Correct value targets and advantages for steps that another policy made.

    Where the policy is the one that made them, targets are n-step returns to the end of the rollout
    or episode, with λ below 1 mixtures of shorter ones, and advantages are `generalized_advantage`.

    Args:
        log_ratio_t: (S, …) log π(a) − log μ(a): of the policy that learns, less of the one that
            acted.
        reward_t: (S, …)
        value_t: (S, …) value at step t, by the critic as it is now.
        value_tp1: (S, …) value of the successor, before any reset.
        terminated_t: (S, …) bool, nothing follows.
        truncated_t: (S, …) bool, time was up.
        discount: γ in [0, 1], or (S, …) of each step.
        decay: λ in [0, 1], on top of the traces, and the share of v′ in an advantage.
        ratio_clip: ρ̄: ratios above count as this; what is learned is the value of a policy between
            both.
        trace_clip: c̄: how far a later surprise counts for an earlier step, at most.

    Raises:
        ValueError: If the tensors do not share one shape.

    Source: Espeholt et al. 2018 (arXiv:1802.01561), equations 1 and 2, and remark 2 for λ;
    λ in the advantage as in RLax, so that it is the generalised one without lag.
    """
    shape = (log_ratio_t, reward_t, value_t, value_tp1, terminated_t, truncated_t, discount)
    _require_one_shape(*shape)
    ratio_t = log_ratio_t.exp()
    rho_t = ratio_t.clamp_max(ratio_clip)
    follows_t = torch.where(terminated_t, 0.0, value_tp1)
    surprise_t = rho_t * (reward_t + discount * follows_t - value_t)
    goes_on_t = ~(terminated_t | truncated_t)
    weight_t = goes_on_t.to(value_t.dtype) * (discount * decay) * ratio_t.clamp_max(trace_clip)
    target = value_t + _decayed_sum(surprise_t, weight_t)
    next_target = torch.cat([target[1:], follows_t[-1:]])
    next_target = torch.where(goes_on_t, next_target, follows_t)
    next_value = follows_t + decay * (next_target - follows_t)
    return VTrace(target, reward_t + discount * next_value - value_t)


def _decayed_sum(value_t: Tensor, weight_t: Tensor) -> Tensor:
    """Return x_t + w_t (x_{t+1} + w_{t+1} (x_{t+2} + …)), (S, …).

    Each round joins runs of twice the length (Hillis & Steele 1986): log₂ S rounds of whole
    tensors instead of S small steps, which is what a GPU wants.
    """
    n_steps, reach = len(value_t), 1
    while reach < n_steps:
        later = value_t[reach:]
        value_t = torch.cat([value_t[:-reach] + weight_t[:-reach] * later, value_t[-reach:]])
        weight_t = torch.cat([weight_t[:-reach] * weight_t[reach:], weight_t[-reach:]])
        reach *= 2
    return value_t


def _require_one_shape(*tensors: Tensor | float) -> None:
    shapes = {tuple(tensor.shape) for tensor in tensors if isinstance(tensor, Tensor)}
    if len(shapes) > 1:
        raise ValueError(f"rewards, values and ends must share one shape, were {sorted(shapes)}")
