"""Value targets step by step: what `learning.value_targets` must equal but for rounding."""

from __future__ import annotations

import torch
from torch import Tensor


def generalized_advantage_by_loop(
    reward_t: Tensor,
    value_t: Tensor,
    value_tp1: Tensor,
    terminated_t: Tensor,
    truncated_t: Tensor,
    *,
    discount: float | Tensor,
    decay: float,
) -> Tensor:
    """Do what `generalized_advantage` does, step by step from the end."""
    tensors = (reward_t, value_t, value_tp1, terminated_t, truncated_t)
    if len({tensor.shape for tensor in tensors}) > 1:
        raise ValueError("rewards, values and ends must share one shape")
    advantage_t = torch.zeros_like(reward_t)
    carried = torch.zeros_like(reward_t[0])
    for t in reversed(range(len(reward_t))):
        successor = torch.where(terminated_t[t], 0.0, value_tp1[t])
        error = reward_t[t] + _at(discount, t) * successor - value_t[t]
        ended = terminated_t[t] | truncated_t[t]
        carried = error + _at(discount, t) * decay * torch.where(ended, 0.0, carried)
        advantage_t[t] = carried
    return advantage_t


def lambda_targets_by_loop(
    reward_t: Tensor,
    value_tp1: Tensor,
    terminated_t: Tensor,
    truncated_t: Tensor,
    *,
    discount: float | Tensor,
    decay: float,
) -> Tensor:
    """Do what `lambda_targets` does, step by step from the end."""
    target_t = torch.zeros_like(reward_t)
    target_tp1 = value_tp1[-1]
    for t in reversed(range(len(reward_t))):
        ended = terminated_t[t] | truncated_t[t]
        seen = torch.where(ended, value_tp1[t], target_tp1)
        mixed = (1.0 - decay) * value_tp1[t] + decay * seen
        target_t[t] = reward_t[t] + _at(discount, t) * torch.where(terminated_t[t], 0.0, mixed)
        target_tp1 = target_t[t]
    return target_t


def n_step_targets_by_loop(
    reward_t: Tensor,
    value_tp1: Tensor,
    terminated_t: Tensor,
    truncated_t: Tensor,
    *,
    discount: float | Tensor,
    n_steps: int,
) -> Tensor:
    """Do what `n_step_targets` does for tensors (S,), one number at a time."""
    target_t = torch.zeros_like(reward_t)
    last = len(reward_t) - 1
    for t in range(len(reward_t)):
        weight: float | Tensor = 1.0
        for i in range(n_steps):
            target_t[t] += weight * reward_t[t + i]
            weight = weight * _at(discount, t + i)
            ended = bool(terminated_t[t + i] | truncated_t[t + i])
            if ended or t + i == last or i == n_steps - 1:
                if not terminated_t[t + i]:
                    target_t[t] += weight * value_tp1[t + i]
                break
    return target_t


def _at(discount: float | Tensor, t: int) -> float | Tensor:
    return discount[t] if isinstance(discount, Tensor) else discount
