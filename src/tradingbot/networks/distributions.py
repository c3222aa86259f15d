"""Distributions of actions: codes, a number, K numbers, or K weights that sum to 1.

Codes are masked categorical, numbers squashed Gaussians, weights a softmax of Gaussians. Noise is
drawn with a generator that is passed in. Entropies are in nats; learners put them on one scale from
0 (decided) to 1 (uniform), the normalised entropy. Actions may be rounded to a few levels.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import torch
from torch import Tensor
from torch.nn import functional

_MASKED = -1.0e9
"""Logit of a forbidden code: finite, so that gradients and entropies stay numbers."""
LOG_STD_BOUNDS = (-5.0, 2.0)
_UNIT_ENTROPY = 0.5 * math.log(2.0 * math.pi * math.e)
"""Of a Gaussian of deviation 1, in nats."""


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
    def of(cls, mean: Tensor, log_std: Tensor, low: float, high: float) -> Self:
        """Bound the deviation smoothly."""
        return cls(mean, _bounded(log_std), low, high)

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
        gaussian = _gaussian_log_prob(unsquashed, self.mean, self.log_std)
        # log(1 − tanh²u) without cancellation.
        slope = 2.0 * (math.log(2.0) - unsquashed - functional.softplus(-2.0 * unsquashed))
        return gaussian - slope - math.log(0.5 * (self.high - self.low))

    def entropy(self, generator: torch.Generator) -> Tensor:
        """Return entropies (…,) in nats, with gradients; an unbiased estimate.

        The Gaussian part is exact; what squashing takes away is estimated with one fresh draw.
        """
        drawn = self.sample(generator)
        slope = 2.0 * (math.log(2.0) - drawn - functional.softplus(-2.0 * drawn))
        return self.log_std + _UNIT_ENTROPY + slope + math.log(0.5 * (self.high - self.low))


class VectorGaussian(SquashedGaussian):
    """K independent numbers in [low, high] each, tensors (…, K); a density is their product."""

    def log_prob(self, unsquashed: Tensor) -> Tensor:
        """Return log densities (…,) of the actions that unsquashed numbers (…, K) become."""
        return super().log_prob(unsquashed).sum(-1)

    def entropy(self, generator: torch.Generator) -> Tensor:
        """Return entropies (…,) in nats, with gradients; an unbiased estimate."""
        return super().entropy(generator).sum(-1)


class SimplexGaussian(NamedTuple):
    """K weights above 0 that sum to 1: softmax of K − 1 Gaussians and a 0 for the last weight.

    The logistic normal of Aitchison & Shen 1980. Densities are in the first K − 1 weights, which
    determine the last.
    """

    mean: Tensor
    """(…, K − 1) before squashing."""
    log_std: Tensor
    """(…, K − 1) within `LOG_STD_BOUNDS`."""

    @classmethod
    def of(cls, mean: Tensor, log_std: Tensor) -> SimplexGaussian:
        """Bound the deviations smoothly."""
        return cls(mean, _bounded(log_std))

    def sample(self, generator: torch.Generator) -> Tensor:
        """Draw numbers before squashing, (…, K − 1), differentiable."""
        noise = torch.randn(self.mean.shape, generator=generator, device=generator.device)
        return self.mean + self.log_std.exp() * noise

    def squash(self, unsquashed: Tensor) -> Tensor:
        """Return weights (…, K)."""
        return to_simplex(unsquashed)

    def mode(self) -> Tensor:
        """Return the weights of the mean (…, K)."""
        return to_simplex(self.mean)

    def log_prob(self, unsquashed: Tensor) -> Tensor:
        """Return log densities (…,) of the weights that unsquashed numbers (…, K − 1) become."""
        gaussian = _gaussian_log_prob(unsquashed, self.mean, self.log_std).sum(-1)
        return gaussian - _log_slope(unsquashed)

    def entropy(self, generator: torch.Generator) -> Tensor:
        """Return entropies (…,) in nats, with gradients; an unbiased estimate."""
        gaussian = (self.log_std + _UNIT_ENTROPY).sum(-1)
        return gaussian + _log_slope(self.sample(generator))


def to_simplex(unsquashed: Tensor) -> Tensor:
    """Return K weights (…, K) of K − 1 numbers (…, K − 1); zeros become equal weights.

    Example:
        >>> to_simplex(torch.zeros(3)).tolist()
        [0.25, 0.25, 0.25, 0.25]
    """
    return torch.softmax(functional.pad(unsquashed, (0, 1)), dim=-1)


def _log_slope(unsquashed: Tensor) -> Tensor:
    """Return the logarithm of the volume that `to_simplex` makes of a unit volume: Σ log weight."""
    return torch.log_softmax(functional.pad(unsquashed, (0, 1)), dim=-1).sum(-1)


def _bounded(log_std: Tensor) -> Tensor:
    lowest, highest = LOG_STD_BOUNDS
    return lowest + 0.5 * (highest - lowest) * (torch.tanh(log_std) + 1.0)


def _gaussian_log_prob(number: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    deviation = (number - mean) * torch.exp(-log_std)
    return -0.5 * deviation.square() - log_std - 0.5 * math.log(2.0 * math.pi)


def round_to_levels(action: Tensor, low: float, high: float, levels: int) -> Tensor:
    """Return the nearest of so many equally spaced levels from low to high; 0 levels: as it is.

    Small changes of a position cost more than they bring.
    Both ends are exact. Half way between two levels, the one with the even number is taken, counted
    from 0 at `low`.

    Args:
        action: (…) in [low, high].
        low: First level.
        high: Last level.
        levels: 0, or 2 or more.

    Example:
        >>> round_to_levels(torch.tensor([-0.6, 0.2, 0.9]), -1.0, 1.0, 3).tolist()
        [-1.0, 0.0, 1.0]
    """
    if not levels:
        return action
    width = high - low
    share = torch.round((action - low) / width * (levels - 1)) / (levels - 1)
    # From the nearer end: low + (high − low) need not be high in floating point.
    return torch.where(share < 0.5, low + width * share, high - width * (1.0 - share))


def round_weights(weights: Tensor, levels: int) -> Tensor:
    """Return weights (…, K) in multiples of 1 ÷ (levels − 1) that still sum to 1; 0: as they are.

    By largest remainders: every weight is rounded down, and what is left goes, one unit each, to
    those that lost most. With two levels the largest weight takes all.

    Args:
        weights: (…, K) of 0 or more, with sum 1.
        levels: 0, or 2 or more.

    Example:
        >>> round_weights(torch.tensor([0.5, 0.3, 0.2]), 5).tolist()
        [0.5, 0.25, 0.25]
    """
    if not levels:
        return weights
    units = weights * (levels - 1)
    whole = units.floor()
    missing = (levels - 1) - whole.sum(-1, keepdim=True)
    rank = (units - whole).argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    return (whole + (rank < missing)) / (levels - 1)
