"""Whether what evolved is better: a pure function."""

from __future__ import annotations

from torch import Tensor


def better_share(before: Tensor, after: Tensor, weight: Tensor) -> Tensor:
    """Return the share of accounts that earned more after than before, (); a tie counts half.

    Args:
        before: (N, B) what accounts earned with the weights of before.
        after: (N, B) the same with those that evolved, over the same bars.
        weight: (N,) of agents; not all 0, or the share is 0.
    """
    better = (after > before).double() + 0.5 * (after == before).double()
    return (better.mean(-1) * weight).sum() / weight.sum().clamp_min(1e-12)
