"""Value targets and advantages, over whole tensors; tests hold them to readable loops.

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


def lambda_targets(
    reward_t: Tensor,
    value_tp1: Tensor,
    terminated_t: Tensor,
    truncated_t: Tensor,
    *,
    discount: float | Tensor,
    decay: float,
) -> Tensor:
    """Return value targets (S, …): geometric mixtures of n-step targets; arguments as above.

    Does not need the values of the steps themselves: they cancel.

    Source: Sutton & Barto 2018, section 12.1.
    """
    # With values of the successor in place of those of the step, advantage + value is the target
    # whatever the values are; zeros are as good as any.
    blended = torch.where(terminated_t, 0.0, value_tp1)
    ended = terminated_t | truncated_t
    last = torch.zeros_like(ended)
    last[-1] = True
    kept = torch.where(ended | last, blended, (1.0 - decay) * blended)
    reward_t, nothing = reward_t + discount * kept, torch.zeros_like(reward_t)
    ends = (terminated_t, truncated_t)
    return generalized_advantage(reward_t, nothing, nothing, *ends, discount=discount, decay=decay)


def n_step_targets(
    reward_t: Tensor,
    value_tp1: Tensor,
    terminated_t: Tensor,
    truncated_t: Tensor,
    *,
    discount: float | Tensor,
    n_steps: int,
) -> Tensor:
    """Return Σ_{i<n} γ^i reward_{t+i} + γ^n value_{t+n}, (S, …), cut where the episode ends.

    Where steps have discounts of their own, γ^i is the product of those before.

    n rounds of whole tensors: the target over k steps is one reward and the target over k − 1 steps
    of the successor. Fewer steps count where the rollout ends. Arguments as above.
    """
    ended_t = terminated_t | truncated_t
    target_t = value_tp1
    for _ in range(n_steps - 1):
        step_t = reward_t + discount * torch.where(terminated_t, 0.0, target_t)
        # Where the episode or the rollout goes on, look one step further; else bootstrap at once.
        further = torch.cat([step_t[1:], value_tp1[-1:]])
        target_t = torch.where(ended_t, value_tp1, further)
    return reward_t + discount * torch.where(terminated_t, 0.0, target_t)


def _require_one_shape(*tensors: Tensor | float) -> None:
    shapes = {tuple(tensor.shape) for tensor in tensors if isinstance(tensor, Tensor)}
    if len(shapes) > 1:
        raise ValueError(f"rewards, values and ends must share one shape, were {sorted(shapes)}")
