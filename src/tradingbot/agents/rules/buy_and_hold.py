"""Buy at the first open there is, and do nothing more: the reference every long-only policy has."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.agents.policy import Seen, settled


def buy_and_hold(seen: Seen) -> Tensor:
    """Ask for the largest position until it is reached; return targets (B,).

    A fill that was cut (volume, a gap down) is completed at the bars after.
    """
    return settled(torch.ones_like(seen.size), seen.size)
