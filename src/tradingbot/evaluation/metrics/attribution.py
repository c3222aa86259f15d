"""What an account earned, taken apart exactly: market, market timing, alpha.

For a bar in which the symbol was held with exposure g over the gap before the open and w from the
open on, both as shares of the equity before the bar, beside a market's part of the symbol's return
βm = βm_gap + βm_day (`MarketFactor.shared`):

    moved with the market   g · βm_gap + w · βm_day
      market part             w̄ · βm                at the mean exposure w̄ of all bars
      market timing           the rest of it        more of it in good bars than in bad ones
    alpha                   net return − moved with the market

The three add up to the net return to rounding. Alpha is selection and timing against the market,
net of every cost and of whatever else the simulator did in the bar. Where a symbol's own returns
stand for the market (`own`), the market part is that at the mean exposure, market timing is 0, and
alpha is what its deviations from its own mean exposure earned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tradingbot.data.factor import MarketFactor
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.statistics.inputs import FloatArray


class Exposure(NamedTuple):
    """Signed position ÷ equity before the bar, at the close before it; (S, N) each."""

    gap: FloatArray
    """Held from the close before to the open."""
    day: FloatArray
    """Held from the open on: after the order at the open, before any stop within the bar."""


class Attribution(NamedTuple):
    """Parts of the net simple return of each bar and account, (S, A)."""

    market: FloatArray
    timing: FloatArray
    alpha: FloatArray

    @property
    def net(self) -> FloatArray:
        """Their sum."""
        return self.market + self.timing + self.alpha


def attribute(net: FloatArray, exposure: Exposure, factor: MarketFactor) -> Attribution:
    """Take net returns apart.

    Args:
        net: (S, N) simple returns of one account per symbol, or (S, 1) of one account that holds
            all symbols.
        exposure: (S, N) to each symbol; not a number where nothing could be held counts as 0.
        factor: The market beside the N symbols over the same S bars.

    Raises:
        DataError: If axes disagree, or a net return is not finite.
    """
    gap, whole = (part.T for part in factor.shared)
    n_bars, n_symbols = whole.shape
    held = Exposure(*(np.nan_to_num(part) for part in exposure))
    fits = net.shape in ((n_bars, n_symbols), (n_bars, 1))
    if not fits or any(part.shape != whole.shape for part in held):
        rule = "returns, exposures and the market must be of the same bars and symbols"
        raise DataError(rule, was=f"{net.shape}, {held.day.shape}, {whole.shape}")
    if not np.isfinite(net).all():
        raise DataError("net returns must be finite", was="NaN or infinite")
    mean = held.day.mean(axis=0) if n_bars else np.zeros(n_symbols)
    base = mean * whole
    moved = held.gap * gap + held.day * (whole - gap)
    timing = np.where(factor.own, 0.0, moved - base)
    if net.shape[1] != n_symbols:
        base, timing = (part.sum(axis=1, keepdims=True) for part in (base, timing))
    return Attribution(market=base, timing=timing, alpha=net - base - timing)
