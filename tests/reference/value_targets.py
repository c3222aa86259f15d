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
    """Mix n-step targets geometrically, step by step from the end (Sutton & Barto 2018, 12.1)."""
    target_t = torch.zeros_like(reward_t)
    target_tp1 = value_tp1[-1]
    for t in reversed(range(len(reward_t))):
        ended = terminated_t[t] | truncated_t[t]
        seen = torch.where(ended, value_tp1[t], target_tp1)
        mixed = (1.0 - decay) * value_tp1[t] + decay * seen
        target_t[t] = reward_t[t] + _at(discount, t) * torch.where(terminated_t[t], 0.0, mixed)
        target_tp1 = target_t[t]
    return target_t


def _at(discount: float | Tensor, t: int) -> float | Tensor:
    return discount[t] if isinstance(discount, Tensor) else discount
