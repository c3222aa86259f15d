"""What the backtest of a run leads one to expect of a session that trades its model.

The run's test part says what the agents earned per bar and how sure that is; the worths at the ends
of its days say how much a day varies. After t bars of mean return m per bar, deviation s per bar
and standard error e of m, equity is expected at E·(1 + m·t), and lies with 95 % within

    1.96 · E · √(s²·t + e²·t²)

of it: luck grows with the root of time, an error of the mean with time itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.evaluation.performance.record import AGENTS, PartPerformance

_Z = 1.959964
_FEWEST_DAYS = 5


class Band(NamedTuple):
    """Expected equity at some bars, (K,) each."""

    low: NDArray[np.float64]
    middle: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True)
class Expectation:
    """Return per bar of a backtest, net of costs."""

    mean_frac: float
    error_frac: float
    """Standard error of the mean."""
    deviation_frac: float
    """Of a bar."""
    words: str
    """Which run and days it is of."""

    def band(self, start_ccy: float, bars: NDArray[np.float64]) -> Band:
        """Return the band after numbers of bars (K,) from an equity."""
        middle = start_ccy * (1.0 + self.mean_frac * bars)
        spread = np.sqrt(self.deviation_frac**2 * bars + (self.error_frac * bars) ** 2)
        half = _Z * start_ccy * spread
        return Band(middle - half, middle, middle + half)

    def is_below(self, start_ccy: float, now_ccy: float, bars: int) -> bool:
        """Tell whether an equity lies below the band after so many bars."""
        return now_ccy < float(self.band(start_ccy, np.array([float(bars)])).low[0])


def expect_from(part: PartPerformance, run: str) -> Expectation | None:
    """Return what a part of a backtest leads one to expect; None where it is too short.

    Args:
        part: Test part of a run.
        run: Its id.
    """
    agents = part.policy(AGENTS)
    if agents is None or len(agents.equity) < _FEWEST_DAYS or part.bars < 2:
        return None
    worth = np.array(agents.equity)
    days = worth[1:] / worth[:-1] - 1.0
    bars_per_day = part.bars / len(days)
    net = agents.net_bps_per_bar
    error = (net.high - net.low) / (2 * _Z) / 1e4
    deviation = float(days.std(ddof=1)) / math.sqrt(bars_per_day)
    if not all(map(math.isfinite, (net.estimate, error, deviation))):
        return None
    words = f"run {run}, test {part.first_day[:10]} … {part.last_day[:10]}, net of costs"
    return Expectation(net.estimate / 1e4, error, deviation, words)
