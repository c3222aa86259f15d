"""Rules that look at the market's rows alone: hold, stay flat, draw at random, follow a table.

A matched random rule has the exposure and the turnover of another policy: luck at the same cost.
Each sleeve draws from the positions that the other policy held in it, and keeps what it drew for a
random while. With redraws at a share p of bars the expected turnover is p · E|X − X′|, X and X′ two
draws; p is chosen so that it is the other policy's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.agents.policy import MarketRule
from tradingbot.domain.errors import DataError
from tradingbot.domain.seeding import stream
from tradingbot.market.episodes import mix


class BuyAndHold(MarketRule):
    """Asks for the largest position until it is reached.

    A fill that was cut (volume, a gap down) is completed at the bars after.
    """

    def wants(self, row: Tensor) -> Tensor:
        """Return 1 for every row."""
        return torch.ones_like(row, dtype=torch.float64)


buy_and_hold = BuyAndHold()


class Flat(MarketRule):
    """Asks for nothing."""

    def wants(self, row: Tensor) -> Tensor:
        """Return 0 for every row."""
        return torch.zeros_like(row, dtype=torch.float64)


flat = Flat()

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


@dataclass(frozen=True, eq=False)
class TargetTable(MarketRule):
    """Follows a table of targets, which must use nothing later than their bar."""

    targets: Tensor
    """(N · T,) by row of the market."""

    def __post_init__(self) -> None:
        """Refuse what is not a number: such a target would be read as hold, silently."""
        if not bool(torch.isfinite(self.targets).all()):
            raise DataError("targets must be finite", was="NaN or infinity in a table of targets")

    def wants(self, row: Tensor) -> Tensor:
        """Gather targets of rows (…)."""
        return self.targets[row]


def table_of(targets: NDArray[np.float64]) -> TargetTable:
    """Return the policy that follows targets (N, T)."""
    return TargetTable(torch.from_numpy(np.ascontiguousarray(targets, dtype=np.float64).ravel()))


FloatArray = NDArray[np.float64]


def matched_random(
    held: FloatArray, turnover: FloatArray, *, n_bars: int, first_bar: int, seed: int
) -> TargetTable:
    """Return a policy that knows nothing and trades as much as another.

    Args:
        held: (S, N) positions of the other, fractions of the largest position.
        turnover: (S, N) what it traded in each bar, in the same unit.
        n_bars: T, bars of the world.
        first_bar: Bar of its first decision.
        seed: Root of the draws.

    Raises:
        DataError: If shapes disagree, or bars lie outside.
    """
    if held.shape != turnover.shape or first_bar + len(held) > n_bars:
        raise DataError(
            "positions and turnover must be (S, N) within the bars",
            was=f"{held.shape} and {turnover.shape} from bar {first_bar} of {n_bars}",
        )
    length, n_symbols = held.shape
    draws = stream(seed, "matched_random")
    targets = np.zeros((n_symbols, n_bars))
    for symbol in range(n_symbols):
        known = held[:, symbol]
        redraw = np.less(draws.random(length), redraw_share(known, turnover[:, symbol]))
        redraw[0] = True
        chosen = draws.choice(known, size=length)
        last = np.maximum.accumulate(np.where(redraw, np.arange(length), 0))
        targets[symbol, first_bar : first_bar + length] = chosen[last]
    return table_of(targets)


def redraw_share(held: FloatArray, turnover: FloatArray) -> float:
    """Return the share of bars p at which to draw anew, in [0, 1].

    Args:
        held: (S,) positions to draw from.
        turnover: (S,) turnover to match.
    """
    ranked, count = np.sort(held), len(held)
    # Mean of |X − X′| over all pairs, by ranks.
    spread = 2.0 * float(((2.0 * np.arange(count) - count + 1.0) * ranked).sum()) / count**2
    return min(1.0, float(turnover.mean()) / spread) if spread > 0.0 else 0.0
