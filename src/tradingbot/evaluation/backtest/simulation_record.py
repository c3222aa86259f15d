"""What is kept of every bar of a simulation, and how fills are read from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.evaluation.backtest.trades import Fills, FloatArray
from tradingbot.market.advance import Advanced

COLUMNS = (
    *("equity", "units", "mark", "turnover", "commission", "slippage", "borrow"),
    *("fill_units", "fill_price", "fill_fee", "fill_slippage"),
    *("exit_units", "exit_price", "exit_fee", "exit_slippage", "exit_reason"),
    "order_units",
)
"""Numbers of a bar and lane: after it, cumulative sums of money, and what was executed in it; last
what was sent to it."""


@dataclass(frozen=True, eq=False)
class SimulationRecord:
    """S bars of L lanes."""

    bars: FloatArray
    """(S, 17, L) the numbers of `COLUMNS`."""
    asked: FloatArray
    """(S, L) what policies asked for."""
    terms: FloatArray
    """(K, L) reward terms, summed over bars."""
    realised_ccy: FloatArray
    """(L,) closed P&L net of commission and borrowing, at the end."""
    denials: NDArray[np.int64]
    """(L,) orders refused."""

    def column(self, name: str) -> FloatArray:
        """Return one of `COLUMNS`, (S, L)."""
        column: FloatArray = self.bars[:, COLUMNS.index(name)]
        return column

    def lanes(self, lanes: slice) -> SimulationRecord:
        """Keep some lanes."""
        return SimulationRecord(
            bars=self.bars[..., lanes],
            asked=self.asked[:, lanes],
            terms=self.terms[:, lanes],
            realised_ccy=self.realised_ccy[lanes],
            denials=self.denials[lanes],
        )

    def fills(self) -> Fills:
        """Return everything that was executed: at the open, then by stops within the bar."""
        units = self.column("units")
        before = np.concatenate([np.zeros_like(units[:1]), units[:-1]])
        at_open, within = self.column("fill_units"), self.column("exit_units")
        # Without a stop the account's own units say what is left; a sum could miss 0 by a hair.
        between = np.where(within != 0.0, before + at_open, units)
        parts = [self._executed("fill", at_open, between), self._executed("exit", within, units)]
        everything = Fills._make(np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.lexsort((everything.step, everything.lane))
        return Fills._make(column[order] for column in everything)

    def _executed(self, kind: str, units: FloatArray, left: FloatArray) -> Fills:
        step, lane = np.nonzero(units)
        price, fee, slippage = (
            self.column(f"{kind}_{name}")[step, lane] for name in ("price", "fee", "slippage")
        )
        reason = self.column("exit_reason")[step, lane].astype(np.int64)
        return Fills(
            step + 1, lane, units[step, lane], price, fee, slippage, left[step, lane], reason
        )


def columns_of(advanced: Advanced) -> tuple[Tensor, ...]:
    """Return the numbers of `COLUMNS`, (B,) each, of one bar."""
    after, fill, stop = advanced.after, advanced.fill, advanced.exit_fill
    money = (after.turnover, after.commission_paid, after.slippage_paid, after.borrow_paid)
    return (
        *(after.equity, after.units, after.mark),
        *money,
        *(fill.units, fill.price, fill.fee, fill.slippage),
        *(stop.units, stop.price, stop.fee, stop.slippage),
        advanced.exit_reason.to(after.cash.dtype),
        advanced.order,
    )
