"""What the members of a generation say of the weights: ranks, and the gradient they estimate."""

from __future__ import annotations

import torch
from torch import Tensor

_PARTS = 2.0**20
"""Of the largest result, to which results are rounded: the last bits of a sum depend on where in a
tensor it stands, and members that did the same must come out the same."""


def comparable_fitness(fitness: Tensor) -> Tensor:
    """Return what members earned, (P, N), without the last bits; −∞ for what is no number."""
    finite = fitness.isfinite()
    largest = torch.where(finite, fitness, 0.0).abs().amax(0).clamp_min(1e-30)
    rounded = torch.round(fitness / largest * _PARTS)
    return torch.where(finite, rounded, -torch.inf)


def rank_utility(fitness: Tensor, elites: float) -> Tensor:
    """Return what each member counts for, (P, N), with mean 0 over members.

    Members are placed by rank, evenly from 0 to 1; those that earn the same share a place, so that
    members of which none is better count for nothing. Of the best `elites` of them, the places
    count; the others count alike. Ranks, not sizes: one lucky member moves no more than the best
    one does anyway.

    Args:
        fitness: (P, N) what members earned; NaN is worse than anything.
        elites: Share of members in (0, 1].
    """
    comparable = comparable_fitness(fitness).T.contiguous()
    ordered = comparable.sort(-1).values
    below = torch.searchsorted(ordered, comparable)
    up_to = torch.searchsorted(ordered, comparable, right=True)
    place = (below + up_to).to(fitness.dtype).T / (2.0 * len(fitness))
    counted = (place - (1.0 - elites)).clamp_min(0.0) / elites
    return counted - counted.mean(0)


def pair_weights(utility: Tensor, sigma: float) -> Tensor:
    """Return what each perturbation is multiplied by in the gradient to descend, (P ÷ 2, N).

    Members come in pairs, + before −: their difference is all that a pair says.

    Source: Salimans et al. 2017 (arXiv:1703.03864), with mirrored sampling (Brockhoff et al. 2010).
    """
    better, worse = utility[0::2], utility[1::2]
    return (worse - better) / (len(utility) * sigma)


def distinct_share(fitness: Tensor) -> Tensor:
    """Return how many members differ from the others, of how many could, (N,), of (P, N).

    0: all earned the same, however many they are; 1: no two did.
    """
    ordered = comparable_fitness(fitness).sort(0).values
    return (ordered[1:] != ordered[:-1]).sum(0) / (len(fitness) - 1.0)
