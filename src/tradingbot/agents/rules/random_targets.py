"""A position drawn at every bar: what costs do to somebody who knows nothing."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from tradingbot.agents.policy import Seen, settled
from tradingbot.market.episodes import mix, mix_number

LEVELS = 4
"""0, ⅓, ⅔ and the whole of the largest position, equally likely."""


@dataclass(frozen=True)
class RandomTargets:
    """Draws one of four positions per symbol and bar: a function of seed and row, without state.

    The mean position is half of the largest; 5/12 of it is turned over per bar.
    """

    seed: int = 0

    def __call__(self, seen: Seen) -> Tensor:
        """Return targets (B,)."""
        level = (mix(mix(seen.row) + mix_number(self.seed)) * LEVELS) >> 32
        return settled(level.to(seen.size.dtype) / (LEVELS - 1), seen.size)
