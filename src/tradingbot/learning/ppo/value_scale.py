"""Units of a critic: values of each agent in multiples of their running deviation.

Keeps the value loss near 1 whatever rewards are measured in. Source: van Hasselt et al. 2016
(arXiv:1602.07714), without rescaling the output layer: targets move slowly enough.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_RATE = 0.1
_SMALLEST = 1e-6


class ValueScale(NamedTuple):
    """Running moments of the value targets of N agents."""

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
