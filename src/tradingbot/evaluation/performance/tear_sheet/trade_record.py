"""Trades as a tear sheet holds them: a list, how long they last, where they lie on the price."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TradeRow:
    """One round trip; money in account currency, times UTC by the minute."""

    symbol: str
    side: int
    """1 long, −1 short."""
    entered_at: str
    exited_at: str
    """Of the last bar where it is open."""
    bars: int
    units: float
    entry_price: float
    exit_price: float
    committed_ccy: float
    """Most capital that was in it at once; NaN in files before format 13."""
    commission_ccy: float
    pnl_ccy: float
    """Net of the costs of fills."""
    return_frac: float
    """P&L ÷ that capital; NaN where it is not known."""
    ended_by: str
    """`policy`, a rule (`stop loss`), or `still open`."""


@dataclass(frozen=True)
class TradeLog:
    """The trades that are listed, and how many there are."""

    n_trades: int
    """Closed and open ones."""
    n_open: int
    won_ccy: float
    """Of closed trades that earn."""
    lost_ccy: float
    """Of those that lose, 0 or less."""
    rows: tuple[TradeRow, ...]
    """All; where there are too many, the latest and those that moved most money, by time."""


@dataclass(frozen=True)
class HoldingTimes:
    """How long closed trades last, bars."""

    median_bars: float
    longest_bars: int
    edges_bars: tuple[int, ...]
    """(B + 1,) bars with which each bin begins, and the end of the last: 0, 1, 2, 4, 8 …"""
    won: tuple[int, ...]
    """(B,) trades that earn."""
    lost: tuple[int, ...]
    """(B,) the others."""
    pnl_ccy: tuple[float, ...]
    """(B,) of all of the bin."""


@dataclass(frozen=True)
class TradeMark:
    """A fill on a chart of prices; in files before format 13 the mean of an entry or an exit."""

    place: float
    """On the axis of the chart's bars."""
    price: float
    buys: bool
    part: str
    """Of its trade: `entry`, `add`, `partial exit` or `exit`; empty in files before format 13."""
    units: float
    """Positive; NaN in files before format 13."""
    hint: str


@dataclass(frozen=True)
class PriceCourse:
    """The price of one symbol, with entries and exits."""

    symbol: str
    n_trades: int
    """Drawn; the latest where there are many."""
    of_trades: int
    n_fills: int
    """Of the trades that are drawn; of very many `marks` has every entry and exit, and the largest
    of the others. 0 in files before format 13."""
    pnl_ccy: float
    """Of all trades of the symbol."""
    days: tuple[str, ...]
    """(K,) of every bar that is drawn: the highest and lowest of each stretch."""
    places: tuple[int, ...]
    """(K,) bars of the period."""
    price: tuple[float, ...]
    """(K,)"""
    held: tuple[tuple[int, int, int], ...]
    """First and last bar of each trade, and whether it earned (1), lost (−1) or neither."""
    marks: tuple[TradeMark, ...]
    """By time."""


@dataclass(frozen=True)
class SymbolCourse:
    """One account in a small chart."""

    symbol: str
    n_trades: int
    """Closed and open ones."""
    total_return_frac: float
    hold_return_frac: float
    """Of the symbol's price; NaN where that is not known."""
    pnl_ccy: float
    """Of its trades."""
    equity: tuple[float, ...]
    """At a few bars, evenly spaced, 1 at the start."""
    price: tuple[float, ...]
    """At the same bars, 1 at the start; empty where not known."""
