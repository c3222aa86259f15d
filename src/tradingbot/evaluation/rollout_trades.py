"""Trades rebuilt from fills: a trade lasts from a flat account to the next flat one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.domain.denial import ExitReason
from tradingbot.market.account import Account
from tradingbot.market.advance import Advanced

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
_WITHIN_BAR = (int(ExitReason.STOP_LOSS), int(ExitReason.TAKE_PROFIT))


@dataclass(frozen=True, eq=False)
class Trades:
    """M trades as columns (M,), in order of policy, symbol and time; long only."""

    policy: IntArray
    """Position on the axis of policies."""
    symbol: IntArray
    """Position on the axis of symbols."""
    entered_at: IntArray
    """Close, µs since 1970 UTC, of the bar in which it was opened."""
    left_at: IntArray
    """The same of the bar in which it was closed; of the last bar where it is open."""
    bars: IntArray
    """Bars in which it was held; one that it left at the open does not count."""
    units: FloatArray
    """Units bought in all."""
    entry_price: FloatArray
    """Mean price of what was bought, costs of the fill included."""
    exit_price: FloatArray
    """Mean price of what was sold; of what is left the last close."""
    commission_ccy: FloatArray
    slippage_ccy: FloatArray
    """Slippage, spread and impact; already in the prices."""
    pnl_ccy: FloatArray
    """Net of all costs; what is left is marked at the last close."""
    is_open: NDArray[np.bool_]
    """Still held at the end."""
    reason: IntArray
    """`ExitReason` of the last fill; 0 where the policy wanted it."""

    def __len__(self) -> int:
        return len(self.policy)

    def select(self, chosen: NDArray[Any]) -> Trades:
        """Keep some trades: a mask or positions."""
        return Trades(**{name: column[chosen] for name, column in vars(self).items()})


class FillLog:
    """Collects the fills of a batch, step by step; only lanes that traded cost anything."""

    def __init__(self) -> None:
        self._rows: list[FloatArray] = []

    def add(self, step: int, advanced: Advanced) -> None:
        """Note what was filled at the open of the bar of `step` and by stops within it."""
        between = advanced.before.units + advanced.fill.units
        after, reason = advanced.after.units, advanced.exit_reason
        for fill, left in ((advanced.fill, between), (advanced.exit_fill, after)):
            lane = torch.nonzero(fill.units).squeeze(1)
            if not len(lane):
                continue
            columns = (lane, fill.units[lane], fill.price[lane], fill.fee[lane])
            costs = (fill.slippage[lane], left[lane], reason[lane])
            rows = torch.stack([column.double() for column in (*columns, *costs)], dim=1).numpy()
            self._rows.append(np.column_stack([np.full(len(rows), float(step)), rows]))

    def table(self) -> FloatArray:
        """Fills (Q, 8), by lane, then time.

        Columns: step, lane, units, price, fee, slippage, units left, reason.
        """
        if not self._rows:
            return np.zeros((0, 8))
        rows = np.concatenate(self._rows)
        ordered: FloatArray = rows[np.argsort(rows[:, 1], kind="stable")]
        return ordered


def trades_of(
    fills: FillLog, account: Account, closed_at: NDArray[np.int64], *, n_symbols: int
) -> Trades:
    """Rebuild trades.

    Args:
        fills: Every fill of long-only accounts that began flat.
        account: The accounts (B,) at the end; lane = policy · N + symbol.
        closed_at: (S + 1,) close of each step's bar.
        n_symbols: N.
    """
    step, lane, units, price, fee, slippage, left, reason = fills.table().T
    lanes = lane.astype(np.int64)
    begins = np.ones(len(lanes), dtype=bool)
    begins[1:] = (left[:-1] == 0.0) | (lanes[1:] != lanes[:-1])
    start = np.flatnonzero(begins)
    end = np.append(start[1:], len(lanes))[: len(start)] - 1

    def total(values: FloatArray) -> FloatArray:
        return np.add.reduceat(values, start) if len(start) else np.zeros(0)

    owner, is_open = lanes[start], left[end] != 0.0
    remaining = left[end]
    worth = remaining * account.mark.double().numpy()[owner]
    bought, sold = np.maximum(units, 0.0), np.maximum(-units, 0.0)
    paid, received = total(bought * price), total(sold * price) + worth
    within_bar = np.isin(reason[end], _WITHIN_BAR)
    first = step[start].astype(np.int64)
    last = np.where(is_open, len(closed_at) - 1, step[end]).astype(np.int64)
    return Trades(
        policy=owner // n_symbols,
        symbol=owner % n_symbols,
        entered_at=closed_at[first],
        left_at=closed_at[last],
        bars=last - first + (is_open | within_bar),
        units=total(bought),
        entry_price=paid / total(bought),
        exit_price=received / total(bought),
        commission_ccy=total(fee),
        slippage_ccy=total(slippage),
        pnl_ccy=received - paid - total(fee),
        is_open=is_open,
        reason=np.where(is_open, int(ExitReason.NONE), reason[end]).astype(np.int64),
    )
