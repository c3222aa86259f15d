"""What one policy did with N sleeves over S bars: the record that every evaluation reads.

Trades are rebuilt from fills: a trade lasts from a flat account to the next flat or turned one. A
fill that turns a long into a short, or back, ends one trade and begins another: its units, fee and
slippage are divided between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.denial import ExitReason
from tradingbot.evaluation.metrics.attribution import Exposure
from tradingbot.evaluation.metrics.returns import simple_returns
from tradingbot.market.costs import CostProfile

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
    rows = _divided(fills)
    lane, left = rows.lane, rows.left
    begins = np.ones(len(lane), dtype=bool)
    begins[1:] = (left[:-1] == 0.0) | (lane[1:] != lane[:-1])
    start = np.flatnonzero(begins)
    end = np.append(start[1:], len(lane))[: len(start)] - 1

    def total(values: FloatArray) -> FloatArray:
        return np.add.reduceat(values, start) if len(start) else np.zeros(0)

    owner, is_open, side = lane[start], left[end] != 0.0, np.sign(rows.units[start])
    along = rows.units * np.repeat(side, np.diff(np.append(start, len(lane))))
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
        commission_ccy=fee,
        slippage_ccy=total(rows.slippage),
        pnl_ccy=side * (gone - entered) - fee,
        is_open=is_open,
        reason=np.where(is_open, int(ExitReason.NONE), rows.reason[end]).astype(np.int64),
    )


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


class AccountTotals(NamedTuple):
    """Money (N,) that the account of each sleeve moved from the start to the end, in currency."""

    realised_ccy: FloatArray
    """Closed P&L net of commission and borrowing, partial exits of open trades included."""
    commission_ccy: FloatArray
    slippage_ccy: FloatArray
    """Slippage, spread and impact."""
    turnover_ccy: FloatArray
    """Traded notional."""


@dataclass(frozen=True, eq=False)
class Backtest:
    """One policy, one sleeve per symbol, never rebalanced; everything net of costs."""

    policy: str
    label: str
    """Data, period and seed in words."""
    synthetic: bool
    """Generated bars, not observed ones."""
    symbols: tuple[str, ...]
    """N names."""
    closed_at: NDArray[np.int64]
    """(S + 1,) microseconds since 1970 UTC: the first decision's close, then every bar's."""
    bars_per_year: float
    """By the exchange's calendar, to annualise with."""
    equity: FloatArray
    """(S + 1, N) worth of each sleeve at those closes, 1 at the start."""
    position_frac: FloatArray
    """(S, N) signed position ÷ equity at the close of each bar; 0 where nothing is left."""
    exposure: Exposure
    """(S, N) what was held over each bar; of one account of several symbols the one to each."""
    turnover_frac: FloatArray
    """(S, N) notional traded in the bar ÷ equity before it."""
    cost_frac: FloatArray
    """(S, N) commission, slippage, spread, impact and borrowing ÷ equity before the bar."""
    action: FloatArray
    """(S, N) what the policy asked for at the close before each bar: position, number or code."""
    reward_names: tuple[str, ...]
    reward_terms: FloatArray
    """(K, N) weighted reward terms, summed over bars."""
    denials: NDArray[np.int64]
    """(N,) orders that a risk rule refused."""
    trades: Trades
    costs: CostProfile
    delay_bars: int
    """Bars between a decision and its execution beyond the usual next open."""
    initial_cash_ccy: float
    """Of each sleeve; what `equity` is a multiple of."""
    account: AccountTotals
    held: tuple[str, ...] = ()
    """Symbols of `exposure`, where one account holds several; else those of the accounts."""
    weights: FloatArray | None = None
    """(S, H + 1) capital that one account of H symbols asked for at the close before each bar, cash
    last, of its value; all cash after a halt; None where accounts have one symbol each."""
    proposals: FloatArray | None = None
    """(S, H) what the sleeves' agents asked for at that close; None as `weights`."""
    cash_frac: FloatArray | None = None
    """(S,) what is in no position at the close of each bar, of the value: capital without a sleeve,
    and what sleeves do not invest; None as `weights`."""
    close: FloatArray | None = None
    """(S + 1, N) price of each symbol at those closes, the last one known, NaN before the first;
    None where one account holds several."""
    time_zone: str = "UTC"
    """Of the exchange, for hours and weekdays."""
    asked_frac: FloatArray | None = None
    """(S, N) position that orders asked for at the close before each bar, ÷ equity there: what was
    held with all that was sent, whatever of it filled; None of portfolios."""

    @property
    def n_bars(self) -> int:
        """S, bars after the first decision."""
        return len(self.closed_at) - 1

    @property
    def traded(self) -> tuple[str, ...]:
        """Symbols that trades name: those of the accounts, or those that one account holds."""
        return self.held or self.symbols

    @property
    def trade_account(self) -> IntArray:
        """(M,) position of each trade's account on the axis of symbols."""
        return np.zeros_like(self.trades.symbol) if self.held else self.trades.symbol

    @property
    def returns(self) -> FloatArray:
        """(S, N) simple returns of the sleeves; 0 where nothing is left to lose."""
        return simple_returns(self.equity)

    @property
    def portfolio(self) -> FloatArray:
        """(S + 1,) worth of all sleeves together, 1 at the start."""
        return np.asarray(self.equity.mean(axis=1))

    @property
    def portfolio_returns(self) -> FloatArray:
        """(S,) simple returns of all sleeves together."""
        return simple_returns(self.portfolio)

    @property
    def first_day(self) -> str:
        """UTC day of the first decision."""
        return str(self.days()[0])

    @property
    def last_day(self) -> str:
        """UTC day of the last close."""
        return str(self.days()[-1])

    def days(self) -> NDArray[np.datetime64]:
        """Return the UTC day (S + 1,) of each close."""
        return np.asarray(self.closed_at.astype("datetime64[us]").astype("datetime64[D]"))
