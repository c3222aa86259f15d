"""Mean and deviation of a stream of numbers of N agents, the recent ones counting more."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class RunningMoments(nn.Module):
    """Exponentially weighted moments of N agents; a module, so that they are state of its owner."""

    mean: Tensor
    """(N,) before it is divided by `weight`."""
    square: Tensor
    """(N,) likewise, of squares."""
    weight: Tensor
    """() how much has been seen, 0 at first, 1 in the end."""

    def __init__(self, n_agents: int, rate: float, device: torch.device | str = "cpu") -> None:
        """Begin with nothing seen; `rate` is what one step counts for, in (0, 1]."""
        super().__init__()
        self.rate = rate
        for name in ("mean", "square"):
            self.register_buffer(name, torch.zeros(n_agents, device=device))
        self.register_buffer("weight", torch.zeros((), device=device))

    @torch.no_grad()
    def insert(self, numbers: Tensor) -> None:
        """Take numbers (S, N, B) of S steps into account."""
        # As one by one, but all steps of the chunk alike: what a rollout and single steps come to.
        share = 1.0 - (1.0 - self.rate) ** len(numbers)
        self.mean.lerp_(numbers.mean((0, 2)), share)
        self.square.lerp_(numbers.square().mean((0, 2)), share)
        self.weight.add_(share * (1.0 - self.weight))

    def moments(self) -> tuple[Tensor, Tensor]:
        """Return mean and deviation, (N,) each; 0 and 0 before anything was seen."""
        weight = self.weight.clamp_min(1e-12)
        mean = self.mean / weight
        return mean, (self.square / weight - mean.square()).clamp_min(0.0).sqrt()
