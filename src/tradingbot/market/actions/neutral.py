"""Market-neutral targets: what agents propose at one bar, less their mean, within one budget."""

from __future__ import annotations

import torch
from torch import Tensor


def neutralise(proposed: Tensor, counted: Tensor, gross_frac: float) -> Tensor:
    """Turn proposed targets of N agents at one bar into targets that add up to 0.

    The mean proposal is taken away; what remains is scaled down where its mean size exceeds the
    budget or one target exceeds 1, never up: agents that propose little hold little.

    Args:
        proposed: (N, …) shares of the largest position, in [−1, 1]; what is no number stays none.
        counted: (N, …) bool, whose symbols have a bar now; others follow, and count for nothing.
        gross_frac: Mean size of targets, of the largest position, at most.

    Returns:
        (N, …) in [−1, 1]; those of counted agents add up to 0.
    """
    known = counted & proposed.isfinite()
    number = known.sum(0).clamp_min(1)
    excess = proposed - torch.where(known, proposed, 0.0).sum(0) / number
    size = torch.where(known, excess.abs(), 0.0)
    budget = gross_frac / (size.sum(0) / number).clamp_min(gross_frac)
    largest = 1.0 / size.amax(0).clamp_min(1.0)
    return (excess * torch.minimum(budget, largest)).clamp(-1.0, 1.0)
