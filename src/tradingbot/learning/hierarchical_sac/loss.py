"""The formulas of the controller per agent, as pure functions.

Axes: C critics, N agents, M options that ended, O options to choose from. An option that took k
steps is one semi-Markov step: its reward is Σ γ^i r_i over them, and what follows counts γ^k
(Sutton, Precup & Singh 1999). Choices are codes: expectations over them are exact (Christodoulou
2019, arXiv:1910.07207).
"""

from __future__ import annotations

import torch
from torch import Tensor


def option_target(
    reward: Tensor,
    continues: Tensor,
    final_value: Tensor,
    final_log_prob: Tensor,
    *,
    temperature: Tensor,
    discount: Tensor,
) -> Tensor:
    """Return what critics should have said of options that ended, (N, M).

    Args:
        reward: (N, M) discounted to the option's beginning.
        continues: (N, M) 0 where a failure ended the episode, else 1.
        final_value: (C, N, M, O) target critics where it ended.
        final_log_prob: (N, M, O) of the controller there; very low where an option is not
            available.
        temperature: (N,) α.
        discount: (N, M) γ to the power of its duration.
    """
    probability = final_log_prob.exp()
    soft = final_value.amin(0) - temperature[:, None, None] * final_log_prob
    value = torch.where(probability > 0.0, probability * soft, 0.0).sum(-1)
    return reward + discount * continues * value


def option_critic_loss(value: Tensor, option: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """Return half the squared error of chosen options, summed over critics, (N,).

    Args:
        value: (C, N, M, O).
        option: (N, M) int64 that was chosen.
        target: (N, M).
        weight: (N,) 0 where an agent has no option that ended yet.
    """
    chosen = value.gather(-1, option.expand(len(value), *option.shape)[..., None]).squeeze(-1)
    return weight * 0.5 * (chosen - target).square().mean(-1).sum(0)


def controller_loss(
    log_prob: Tensor, value: Tensor, *, temperature: Tensor, weight: Tensor
) -> Tensor:
    """Return E[α log π − min Q] over options, (N,).

    Args:
        log_prob: (N, M, O) of the controller.
        value: (C, N, M, O) without gradients.
        temperature: (N,) α.
        weight: (N,).
    """
    probability = log_prob.exp()
    cost = temperature[:, None, None] * log_prob - value.amin(0)
    return weight * torch.where(probability > 0.0, probability * cost, 0.0).sum(-1).mean(-1)


def controller_temperature_loss(
    log_temperature: Tensor, entropy: Tensor, target_entropy: Tensor, weight: Tensor
) -> Tensor:
    """Return log α · (entropy − target), (N,), of entropies and targets (N, M) in nats."""
    return weight * log_temperature * (entropy - target_entropy).detach().mean(-1)
