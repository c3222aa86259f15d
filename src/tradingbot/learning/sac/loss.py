"""The four formulas of SAC per agent, as pure functions.

Axes: C critics, N agents, M samples. Each loss is a mean over samples, (N,); learners add agents
up, so what an agent learns on its own does not depend on how many there are.

Source: Haarnoja et al. 2018b (arXiv:1812.05905), equations 5, 6, 9 and 18.
"""

from __future__ import annotations

from torch import Tensor


def critic_target(
    reward: Tensor,
    continues: Tensor,
    final_value: Tensor,
    final_log_prob: Tensor,
    *,
    temperature: Tensor,
    discount: float | Tensor,
) -> Tensor:
    """Return what critics should have said, (N, M).

    Args:
        reward: (N, M)
        continues: (N, M) 0 where a failure ended the episode, 1 else: truncation bootstraps.
        final_value: (C, N, M) target critics of a drawn action at what followed, before any reset.
        final_log_prob: (N, M) log density of that action.
        temperature: (N,) α.
        discount: γ per step, or (N, M) of each transition.
    """
    soft_value = final_value.amin(0) - temperature[:, None] * final_log_prob
    return reward + discount * continues * soft_value


def critic_loss(value: Tensor, target: Tensor) -> Tensor:
    """Return half the squared error of values (C, N, M), summed over critics, (N,)."""
    return 0.5 * (value - target).square().mean(-1).sum(0)


def actor_loss(value: Tensor, log_prob: Tensor, *, temperature: Tensor) -> Tensor:
    """Return α log π − min Q, (N,), of drawn actions.

    Args:
        value: (C, N, M) what critics think of them, differentiable in the actions.
        log_prob: (N, M) their log densities.
        temperature: (N,) α.
    """
    return (temperature[:, None] * log_prob - value.amin(0)).mean(-1)


def temperature_loss(log_temperature: Tensor, log_prob: Tensor, target_entropy: Tensor) -> Tensor:
    """Return −log α · (log π + target entropy), (N,).

    In the logarithm of α, as is common: the sign of the gradient is the paper's, its size does not
    depend on α.

    Args:
        log_temperature: (N,)
        log_prob: (N, M) of drawn actions; no gradient flows into it.
        target_entropy: (N,) nats.
    """
    return -log_temperature * (log_prob.detach().mean(-1) + target_entropy)
