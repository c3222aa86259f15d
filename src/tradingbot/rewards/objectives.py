"""Terms gathered by what they are for: the seam of learners that weigh several objectives."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.rewards.stack import RewardStack
from tradingbot.rewards.term import OBJECTIVES


def sum_by_objective(stack: RewardStack, terms: Tensor) -> Tensor:
    """Add up the terms of each objective.

    Args:
        stack: The reward the terms came from.
        terms: (K, ...) its weighted terms, in its order.

    Returns:
        (5, ...) in the order of `OBJECTIVES`; 0 where the stack has no term for one. Every term is
        in exactly one of them, so the sum over objectives is the reward up to rounding.
    """
    if terms.shape[:1] != (len(stack.layers),):
        raise ValueError(
            f"terms must have one row per term of the stack ({len(stack.layers)}), "
            f"was {tuple(terms.shape)}"
        )
    rows: dict[str, list[int]] = {objective: [] for objective in OBJECTIVES}
    for row, layer in enumerate(stack.layers):
        rows[layer.term.objective].append(row)
    return torch.stack([terms[chosen].sum(0) for chosen in rows.values()])
