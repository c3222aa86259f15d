"""How large an agent's rewards are, so that its critics can count in units of that."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class RewardScale(nn.Module):
    """Running standard deviation of each agent's rewards; a module: its sums are its state."""

    sums: Tensor
    """(3, N) float64: how many, their sum, the sum of their squares."""

    def __init__(self, n_agents: int, device: torch.device | str = "cpu") -> None:
        """Begin without a reward."""
        super().__init__()
        self.register_buffer("sums", torch.zeros(3, n_agents, dtype=torch.float64, device=device))

    @torch.no_grad()
    def insert(self, reward: Tensor) -> None:
        """Count rewards (N, B)."""
        double = reward.double()
        count = torch.full_like(double[:, 0], reward.shape[1])
        self.sums.add_(torch.stack([count, double.sum(-1), double.square().sum(-1)]))

    def deviation(self) -> Tensor:
        """Return the standard deviation (N,) float32 so far; 1 where nothing has varied yet."""
        count, total, squares = self.sums.unbind(0)
        mean = total / count.clamp_min(1.0)
        variance = squares / count.clamp_min(1.0) - mean.square()
        # Below this it is rounding of equal rewards, not variation.
        varies = variance > 1e-12 * mean.square()
        return torch.where(varies, variance, 1.0).clamp_min(1e-30).sqrt().float()
