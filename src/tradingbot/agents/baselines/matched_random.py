"""Random positions with the exposure and the turnover of another policy: luck at the same cost.

Each sleeve draws from the positions that the other policy held in it, and keeps what it drew for a
random while. With redraws at a share p of bars the expected turnover is p · E|X − X′|, X and X′ two
draws; p is chosen so that it is the other policy's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tradingbot.agents.baselines.target_table import TargetTable, table_of
from tradingbot.domain.errors import DataError
from tradingbot.domain.seeding import stream

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
