"""Units with as many decimals as a venue takes: the numbers k / 10^d.

The division is rounded correctly, and 10^d is a float64 without error for d ≤ 22, so that a number
here is the same as the float of the venue's decimal text.
"""

from __future__ import annotations

import torch
from torch import Tensor


def truncate_units(units: Tensor, decimals: int) -> Tensor:
    """Cut units (B,) to so many decimals, toward 0.

    A number that misses k / 10^d by rounding only counts as that one.

    Example:
        >>> truncate_units(torch.tensor([1.239, -1.239, 0.29], dtype=torch.float64), 2).tolist()
        [1.23, -1.23, 0.29]
    """
    scale = 10.0**decimals
    scaled = units * scale
    nearest = torch.round(scaled)
    size = scaled.abs()
    is_it = (scaled - nearest).abs() <= 4.0 * torch.finfo(units.dtype).eps * size
    is_below = nearest.abs() <= size
    whole = torch.where(is_it | is_below, nearest, nearest - torch.sign(scaled))
    return _pass_gradient(units, whole / scale)


def round_units(units: Tensor, decimals: int) -> Tensor:
    """Return the number of so many decimals that is nearest to each of units (B,).

    Example:
        >>> round_units(torch.tensor([0.1 + 0.2], dtype=torch.float64), 9).tolist()
        [0.3]
    """
    scale = 10.0**decimals
    return _pass_gradient(units, torch.round(units * scale) / scale)


def _pass_gradient(units: Tensor, cut: Tensor) -> Tensor:
    """Return `cut` with the gradient of `units`: steps have none, and nothing would be learned."""
    return cut.detach() + (units - units.detach())
