"""A position drawn at every bar: what costs do to a policy without information."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from tradingbot.agents.policy import MarketRule
from tradingbot.market.episodes import mix

LEVELS = 4
"""0, ⅓, ⅔ and the whole of the largest position, equally likely."""


@dataclass(frozen=True)
class RandomTargets(MarketRule):
    """Draws one of four positions per symbol and bar: a function of seed and row, without state.

    The mean position is half of the largest; 5/12 of it is turned over per bar.
    """

    seed: int = 0

    def wants(self, row: Tensor) -> Tensor:
        """Return targets (…) of rows (…)."""
        level = (mix(mix(row) + mix(self.seed)) * LEVELS) >> 32
        return level.double() / (LEVELS - 1)
