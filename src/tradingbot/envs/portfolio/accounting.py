"""What one bar does to a portfolio of sleeves: pure arithmetic of weights and moves.

Capital moves at the open, where there is a market for what it is invested in. A sleeve that loses
more than it has is a debt of the portfolio, carried in its cash.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.market.advance import Advanced
from tradingbot.market.bars import Bar

FloatArray = NDArray[np.float64]

LOWEST_FACTOR = 1e-6
"""Growth below this, ruin and debt too, is rewarded as this: a logarithm must be finite."""
_TINY = 1e-200  # a value at the open of exactly 0, as a number one can divide by


class SleeveMoves(NamedTuple):
    """What one bar did to N sleeves, every field (N,)."""

    gap: FloatArray
    """Value at the open ÷ value at the last close; below 0 where the gap left a debt."""
    within: FloatArray
    """Value at the close ÷ value at the open, net of the sleeve's own costs."""
    exposure_frac: FloatArray
    """Position ÷ value at the open, before the sleeve's own order: capital that moves trades
    so much of itself, and shares in the cost of that order afterwards."""
    movable: NDArray[np.bool_]
    """Capital can join or leave: the sleeve has a value, and a market if it has a position."""


class Rebalanced(NamedTuple):
    """What one bar did to the portfolio; factors of its value."""

    growth: float
    """Of the sleeves, over the gap and within the bar; below 0 where they left a debt."""
    cost: float
    """1 − what moving capital took, of the value at the open; 0 or more."""
    weights: FloatArray
    """(N + 1,) at the close, cash last; they sum to 1. Cash is below 0 where a sleeve left a debt
    that it could not pay; all cash if nothing is left."""
    turnover_frac: float
    """Traded notional ÷ value."""

    @property
    def total(self) -> float:
        """Value at the close ÷ value at the last; a cost makes a debt larger, too."""
        return self.growth - abs(self.growth) * (1.0 - self.cost)

    @property
    def reward_terms(self) -> dict[str, float]:
        """Log growth, in two parts; each is finite."""
        return {
            "growth": math.log(max(self.growth, LOWEST_FACTOR)),
            "rebalancing": math.log(max(self.cost, LOWEST_FACTOR)),
        }


def rebalance(
    weights: FloatArray, wanted: FloatArray, moves: SleeveMoves, cost_frac: float
) -> Rebalanced:
    """Carry a portfolio over one bar: gap on old weights, move capital at the open, trade on.

    Args:
        weights: (N + 1,) at the last close, cash last.
        wanted: (N + 1,) at the open, on the simplex.
        moves: Of the sleeves.
        cost_frac: One way, of the notional traded to move capital; it is taken of all sleeves in
            proportion (an error of second order in the cost).
    """
    grown = weights * np.append(moves.gap, 1.0)
    value = float(grown.sum())
    # A portfolio that is worth nothing at the open has nothing to move.
    moved = value * attainable(grown / value, wanted, moves.movable) if value > 0.0 else grown
    traded = float((moves.exposure_frac * np.abs(moved - grown)[:-1]).sum())
    turnover = traded / value if value > 0.0 else 0.0
    held = moved * np.append(moves.within, 1.0)
    growth = float(held.sum())
    all_cash = np.append(np.zeros(len(held) - 1), 1.0)
    left = _charge_debts(held) / growth if growth > 0.0 else all_cash
    return Rebalanced(growth, max(1.0 - cost_frac * turnover, 0.0), left, turnover)


def attainable(at_open: FloatArray, wanted: FloatArray, movable: NDArray[np.bool_]) -> FloatArray:
    """Return the weights (N + 1,) nearest to the wanted ones that can be had at the open.

    What cannot move stays. What was meant to join it waits in cash; where it keeps more than was
    wanted, cash gives way first, then the other sleeves in proportion.
    """
    if movable.all():
        return wanted
    sleeves = np.where(movable, wanted[:-1], at_open[:-1])
    asked, fixed = sleeves[movable].sum(), sleeves[~movable].sum()
    if asked > max(1.0 - fixed, 0.0):
        sleeves[movable] *= max(1.0 - fixed, 0.0) / asked
    return np.append(sleeves, 1.0 - sleeves.sum())


def sleeve_moves(advanced: Advanced, bar: Bar) -> SleeveMoves:
    """Split what a bar did to N sleeves at its open; one that had no value before stands still."""
    before = advanced.before
    start, end = before.equity, advanced.after.equity
    at_open = before.cash + before.units * bar.open
    alive = start > 0.0
    market = (bar.tradable > 0.0) & (bar.volume > 0.0)
    movable = alive & (at_open > 0.0) & (market | (before.units == 0.0))
    divisor = torch.where(at_open == 0.0, _TINY, at_open)
    exposure = before.units.abs() * bar.open / divisor
    return SleeveMoves(
        gap=_array(torch.where(alive, divisor / torch.where(alive, start, 1.0), 1.0)),
        within=_array(torch.where(alive, end / divisor, 1.0)),
        exposure_frac=_array(torch.where(movable, exposure, 0.0)),
        movable=movable.numpy(force=True),
    )


def _array(values: Tensor) -> FloatArray:
    return np.asarray(values.double().numpy(force=True))


def _charge_debts(held: FloatArray) -> FloatArray:
    """Charge what sleeves owe to the cash: their accounts end, the debt is the portfolio's."""
    sleeves, cash = held[:-1], held[-1]
    return np.append(np.maximum(sleeves, 0.0), cash + np.minimum(sleeves, 0.0).sum())
