"""Buy at the first open there is, and do nothing more: the reference every long-only policy has."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.agents.policy import MarketRule


class BuyAndHold(MarketRule):
    """Asks for the largest position until it is reached.

    A fill that was cut (volume, a gap down) is completed at the bars after.
    """

    def wants(self, row: Tensor) -> Tensor:
        """Return 1 for every row."""
        return torch.ones_like(row, dtype=torch.float64)


buy_and_hold = BuyAndHold()
