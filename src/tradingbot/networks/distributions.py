"""Distributions of actions: masked categorical over codes, squashed Gaussian over numbers.

Noise is drawn with a generator that is passed in. Entropies are in nats; learners put them on one
scale from 0 (decided) to 1 (anything goes), the spread.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

_MASKED = -1.0e9
"""Logit of a forbidden code: finite, so that gradients and entropies stay numbers."""
LOG_STD_BOUNDS = (-5.0, 2.0)


class MaskedCategorical(NamedTuple):
    """Codes below A, some of them forbidden."""

    log_probs: Tensor
    """(…, A) normalised over what is allowed."""

    @classmethod
    def of(cls, logits: Tensor, allowed: Tensor) -> MaskedCategorical:
        """Normalise logits (…, A) over what is allowed (…, A) bool."""
        return cls(torch.log_softmax(torch.where(allowed, logits, _MASKED), dim=-1))

    def sample(self, generator: torch.Generator) -> Tensor:
        """Draw codes (…,) int64, by the Gumbel maximum."""
        uniform = torch.rand(
            self.log_probs.shape, generator=generator, device=generator.device
        ).clamp_min_(1e-20)
        return (self.log_probs - torch.log(-torch.log(uniform))).argmax(-1)

    def mode(self) -> Tensor:
        """Return the most probable codes (…,)."""
        return self.log_probs.argmax(-1)

    def log_prob(self, code: Tensor) -> Tensor:
        """Return log probabilities (…,) of codes (…,)."""
        return self.log_probs.gather(-1, code[..., None]).squeeze(-1)

    def entropy(self) -> Tensor:
        """Return entropies (…,) in nats."""
        return -(self.log_probs.exp() * self.log_probs).sum(-1)


class SquashedGaussian(NamedTuple):
    """Numbers in [low, high]: tanh of a Gaussian, stretched.

    Source: Haarnoja et al. 2018, appendix C.
    """

    mean: Tensor
    """(…,) before squashing."""
    log_std: Tensor
    """(…,) within `LOG_STD_BOUNDS`."""
    low: float
    high: float

    @classmethod
    def of(cls, mean: Tensor, log_std: Tensor, low: float, high: float) -> SquashedGaussian:
        """Bound the deviation smoothly."""
        lowest, highest = LOG_STD_BOUNDS
        bounded = lowest + 0.5 * (highest - lowest) * (torch.tanh(log_std) + 1.0)
        return cls(mean, bounded, low, high)

    def sample(self, generator: torch.Generator) -> Tensor:
        """Draw numbers before squashing, (…,), differentiable; `squash` makes actions of them."""
        noise = torch.randn(self.mean.shape, generator=generator, device=generator.device)
        return self.mean + self.log_std.exp() * noise

    def squash(self, unsquashed: Tensor) -> Tensor:
        """Return actions (…,) in [low, high]."""
        return self.low + 0.5 * (self.high - self.low) * (torch.tanh(unsquashed) + 1.0)

    def mode(self) -> Tensor:
        """Return the actions of the mean (…,)."""
        return self.squash(self.mean)

    def log_prob(self, unsquashed: Tensor) -> Tensor:
        """Return log densities (…,) of the actions that unsquashed numbers (…,) become."""
        deviation = (unsquashed - self.mean) * torch.exp(-self.log_std)
        gaussian = -0.5 * deviation.square() - self.log_std - 0.5 * math.log(2.0 * math.pi)
        # log(1 − tanh²u) without cancellation.
        slope = 2.0 * (math.log(2.0) - unsquashed - functional.softplus(-2.0 * unsquashed))
        return gaussian - slope - math.log(0.5 * (self.high - self.low))
