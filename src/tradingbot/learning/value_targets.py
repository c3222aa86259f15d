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

    Each round joins runs of twice the length (Hillis & Steele 1986): log₂ S rounds of whole
    tensors instead of S small steps, which is what a GPU wants.

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
    n_steps, reach = len(reward_t), 1
    while reach < n_steps:
        later = advantage_t[reach:]
        advantage_t = torch.cat(
            [advantage_t[:-reach] + weight_t[:-reach] * later, advantage_t[-reach:]]
        )
        weight_t = torch.cat([weight_t[:-reach] * weight_t[reach:], weight_t[-reach:]])
        reach *= 2
    return advantage_t


def _require_one_shape(*tensors: Tensor | float) -> None:
    shapes = {tuple(tensor.shape) for tensor in tensors if isinstance(tensor, Tensor)}
    if len(shapes) > 1:
        raise ValueError(f"rewards, values and ends must share one shape, were {sorted(shapes)}")
