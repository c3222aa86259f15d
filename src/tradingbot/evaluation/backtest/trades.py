"""Fills of accounts, and the trades that are rebuilt from them.

A trade lasts from a flat account to the next flat or turned one. A fill that turns a long into a
short, or back, ends one trade and begins another: its units, fee and slippage are divided between
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.denial import ExitReason

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
_WITHIN_BAR = tuple(
    int(each) for each in (ExitReason.STOP_LOSS, ExitReason.TAKE_PROFIT, ExitReason.DELISTED)
)


@dataclass(frozen=True, eq=False)
class Trades:
    """M trades as columns (M,), in order of policy, symbol and time."""

    policy: IntArray
    """Position on the axis of policies; 0 in the backtest of one."""
    symbol: IntArray
    """Position among the symbols that are traded: `Backtest.traded`."""
    side: IntArray
    """1 long, −1 short."""
    entered_at: IntArray
    """Close, µs since 1970 UTC, of the bar in which it was opened."""
    exited_at: IntArray
    """The same of the bar in which it was closed; of the last bar where it is open."""
    bars: IntArray
    """Bars in which it was held; one that it left at the open does not count."""
    units: FloatArray
    """Units bought, of a short units sold, in all; positive."""
    entry_price: FloatArray
    """Mean price of what was opened, costs of the fill included."""
    exit_price: FloatArray
    """Mean price of what was closed; of what is left the last close."""
    committed_ccy: FloatArray
    """Most capital that was in it at once: units held × the mean price that was paid for them, of a
    short received; what is sold again takes its share of it out."""
    commission_ccy: FloatArray
    slippage_ccy: FloatArray
    """Slippage, spread and impact; already in the prices."""
    pnl_ccy: FloatArray
    """Net of the costs of fills; what is left is marked at the last close. Borrowing is not in it:
    it is paid by the account, bar by bar."""
    is_open: NDArray[np.bool_]
    """Still held at the end."""
    reason: IntArray
    """`ExitReason` of the last fill; 0 where the policy wanted it."""

    def __len__(self) -> int:
        return len(self.policy)

    @property
    def return_frac(self) -> FloatArray:
        """P&L ÷ the most capital that was in the trade at once; NaN where that is nothing."""
        known = self.committed_ccy > 0.0
        out: FloatArray = np.full(len(self), np.nan)
        np.divide(self.pnl_ccy, self.committed_ccy, out=out, where=known)
        return out

    def select(self, chosen: NDArray[Any]) -> Trades:
        """Keep some trades: a mask or positions."""
        return Trades(**{name: column[chosen] for name, column in vars(self).items()})


class Fills(NamedTuple):
    """Q executions as columns (Q,), by lane, then time."""

    step: IntArray
    """1 … S, the bar after the first decision is 1."""
    lane: IntArray
    units: FloatArray
    """Signed."""
    price: FloatArray
    fee: FloatArray
    slippage: FloatArray
    left: FloatArray
    """Units held afterwards, signed."""
    reason: IntArray
    """`ExitReason`."""


def trades_of(
    fills: Fills, last_mark: FloatArray, closed_at: NDArray[np.int64], *, n_symbols: int
) -> Trades:
    """Rebuild trades.

    Args:
        fills: Every fill of accounts that began flat.
        last_mark: (B,) last close of each account; lane = policy · N + symbol.
        closed_at: (S + 1,) close of each step's bar.
        n_symbols: N.
    """
    rows, trade = executions(fills)
    lane, left = rows.lane, rows.left
    start = np.flatnonzero(np.diff(trade, prepend=-1))
    end = np.append(start[1:], len(lane))[: len(start)] - 1

    def total(values: FloatArray) -> FloatArray:
        return np.add.reduceat(values, start) if len(start) else np.zeros(0)

    owner, is_open, side = lane[start], left[end] != 0.0, np.sign(rows.units[start])
    along = rows.units * side[trade]
    opened, closed = np.maximum(along, 0.0), np.maximum(-along, 0.0)
    entered = total(opened * rows.price)
    gone = total(closed * rows.price) + np.abs(left[end]) * last_mark[owner]
    units, fee = total(opened), total(rows.fee)
    within_bar = np.isin(rows.reason[end], _WITHIN_BAR)
    first = rows.step[start]
    last = np.where(is_open, len(closed_at) - 1, rows.step[end]).astype(np.int64)
    return Trades(
        policy=owner // n_symbols,
        symbol=owner % n_symbols,
        side=side.astype(np.int64),
        entered_at=closed_at[first],
        exited_at=closed_at[last],
        bars=last - first + (is_open | within_bar),
        units=units,
        entry_price=entered / units,
        exit_price=gone / units,
        committed_ccy=_committed(rows, along, start, end),
        commission_ccy=fee,
        slippage_ccy=total(rows.slippage),
        pnl_ccy=side * (gone - entered) - fee,
        is_open=is_open,
        reason=np.where(is_open, int(ExitReason.NONE), rows.reason[end]).astype(np.int64),
    )


def fills_of_lanes(fills: Fills, first: int, count: int) -> Fills:
    """Return the fills of `count` neighbouring lanes, numbered from 0."""
    mine = slice(*np.searchsorted(fills.lane, (first, first + count)).tolist())
    own = Fills._make(column[mine].copy() for column in fills)
    return own._replace(lane=own.lane - first)


def executions(fills: Fills) -> tuple[Fills, IntArray]:
    """Return fills, one that turns a position as two, and the trade (Q,) that each belongs to."""
    rows = _divided(fills)
    begins = np.ones(len(rows.lane), dtype=bool)
    begins[1:] = (rows.left[:-1] == 0.0) | (rows.lane[1:] != rows.lane[:-1])
    return rows, np.cumsum(begins) - 1


def _committed(rows: Fills, along: FloatArray, start: IntArray, end: IntArray) -> FloatArray:
    """Return the most capital that was in each trade at once.

    Fill by fill, of all trades at once: what is in a trade follows from what was in it before.

    Args:
        rows: Executions by trade.
        along: (Q,) units, positive where they open.
        start: (M,) first row of each trade.
        end: (M,) its last row.
    """
    held = np.abs(rows.left)
    before = np.abs(rows.left - rows.units)
    kept = np.divide(held, before, out=np.zeros_like(held), where=before > 0.0)
    by_length = np.argsort(start - end, kind="stable")  # the longest first
    n_rows = (end - start + 1)[by_length]
    inside, most = np.zeros(len(start)), np.zeros(len(start))
    for place in range(int(n_rows.max(initial=0))):
        trade = by_length[: np.searchsorted(-n_rows, -place, side="left")]
        row = start[trade] + place
        paid = along[row] * rows.price[row]
        inside[trade] = np.where(paid > 0.0, inside[trade] + paid, inside[trade] * kept[row])
        most[trade] = np.maximum(most[trade], inside[trade])
    return most


def _divided(fills: Fills) -> Fills:
    """Write a fill that turns a position as two: what closes, and what opens."""
    before = fills.left - fills.units
    turns = before * fills.left < 0.0
    if not turns.any():
        return fills
    opening = np.where(turns, np.abs(fills.left / fills.units), 0.0)
    place = np.repeat(np.arange(len(turns)), 1 + turns)
    second = np.zeros(len(place), dtype=bool)
    second[1:] = place[1:] == place[:-1]
    share = np.where(second, opening[place], 1.0 - opening[place])
    closing = turns[place] & ~second
    units = np.where(second, fills.left[place], fills.units[place])
    return Fills(
        step=fills.step[place],
        lane=fills.lane[place],
        units=np.where(closing, -before[place], units),
        price=fills.price[place],
        fee=fills.fee[place] * share,
        slippage=fills.slippage[place] * share,
        left=np.where(closing, 0.0, fills.left[place]),
        reason=fills.reason[place],
    )
