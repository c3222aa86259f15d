"""Never trade: what every policy that pays costs must beat."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.agents.policy import MarketRule


class Flat(MarketRule):
    """Asks for nothing."""

    def wants(self, row: Tensor) -> Tensor:
        """Return 0 for every row."""
        return torch.zeros_like(row, dtype=torch.float64)


flat = Flat()
