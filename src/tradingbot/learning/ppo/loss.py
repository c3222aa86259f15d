"""The losses of PPO, and the units its critics count in: pure functions, one number per agent."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_EPSILON = 1e-8


class PolicyLoss(NamedTuple):
    """What one minibatch says of each agent's policy, (N,) each."""

    loss: Tensor
    kl: Tensor
    """Estimate of KL(old ‖ new) in nats, without gradient."""
    clip_share: Tensor
    """Share of samples whose ratio lies outside the clip range, without gradient."""


def normalise(values: Tensor) -> Tensor:
    """Give each agent's values (N, M) mean 0 and deviation 1."""
    mean = values.mean(-1, keepdim=True)
    return (values - mean) / (values.std(-1, keepdim=True) + _EPSILON)


def policy_loss(
    log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float
) -> PolicyLoss:
    """Return the clipped surrogate of M samples per agent; all arguments (N, M).

    Source: Schulman et al. 2017 (arXiv:1707.06347), equation 7.
    """
    log_ratio = log_prob - old_log_prob
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - clip, 1.0 + clip)
    loss = -torch.minimum(advantage * ratio, advantage * clipped).mean(-1)
    with torch.no_grad():
        kl = divergence(log_ratio)
        clip_share = ((ratio - 1.0).abs() > clip).float().mean(-1)
    return PolicyLoss(loss, kl, clip_share)


def divergence(log_ratio: Tensor) -> Tensor:
    """Estimate KL(old ‖ new) in nats, (N,), from ln r of M samples per agent (N, M).

    The mean of (r − 1) − ln r is never negative: Schulman 2020 (joschu.net/blog/kl-approx.html).
    """
    return (log_ratio.exp() - 1.0 - log_ratio).mean(-1)


def value_loss(value: Tensor, target: Tensor) -> Tensor:
    """Return the mean squared error of each agent, (N,), of values and targets (N, M)."""
    return (value - target).square().mean(-1)


def explained_variance(value: Tensor, target: Tensor) -> Tensor:
    """Return 1 − variance of the error ÷ variance of the target, (N,), of (N, M); at most 1.

    0 where the target does not vary: nothing can be explained then.
    """
    variance = target.var(-1)
    share = 1.0 - (target - value).var(-1) / variance.clamp_min(1e-30)
    return torch.where(variance > 1e-30, share, 0.0)


_RATE = 0.1
_SMALLEST = 1e-6


class ValueScale(NamedTuple):
    """Running moments of the value targets of N agents: the units that their critics count in.

    Keeps the value loss near 1 whatever rewards are measured in. Source: van Hasselt et al. 2016
    (arXiv:1602.07714), without rescaling the output layer: targets move slowly enough.
    """

    mean: Tensor
    """(N,)"""
    square: Tensor
    """(N,) mean of squares."""
    weight: Tensor
    """() how much of the moments has been seen, 0 at first."""

    @classmethod
    def begin(cls, n_agents: int, device: torch.device | str) -> ValueScale:
        """Return moments before anything was seen."""
        zeros = torch.zeros(n_agents, device=device)
        return cls(zeros, zeros.clone(), torch.zeros((), device=device))

    def with_targets(self, target: Tensor) -> ValueScale:
        """Take targets (S, N, B) into account."""
        return ValueScale(
            torch.lerp(self.mean, target.mean((0, 2)), _RATE),
            torch.lerp(self.square, target.square().mean((0, 2)), _RATE),
            self.weight + _RATE * (1.0 - self.weight),
        )

    def moments(self) -> tuple[Tensor, Tensor]:
        """Return mean and deviation, (N,) each: 0 and 1 before anything was seen."""
        weight = self.weight.clamp_min(_RATE)
        mean = self.mean / weight
        deviation = (self.square / weight - mean.square()).clamp_min(_SMALLEST**2).sqrt()
        return mean, torch.where(self.weight > 0.0, deviation, 1.0)

    def to_critic(self, value: Tensor) -> Tensor:
        """Convert values (S, N, B) from units of the reward to units of the critic."""
        mean, deviation = self.moments()
        return (value - mean[:, None]) / deviation[:, None]

    def to_reward(self, value: Tensor) -> Tensor:
        """Convert values (…, N, B) from units of the critic to units of the reward."""
        mean, deviation = self.moments()
        return mean[:, None] + deviation[:, None] * value
