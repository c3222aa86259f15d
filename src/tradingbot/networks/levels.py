"""Rounding actions to a few levels: small changes of a position cost more than they bring."""

from __future__ import annotations

import torch
from torch import Tensor


def round_to_levels(action: Tensor, low: float, high: float, levels: int) -> Tensor:
    """Return the nearest of so many equally spaced levels from low to high; 0 levels: as it is.

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
