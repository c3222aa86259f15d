"""The trades of a backtest: listed, by how long they lasted, and by symbol."""

from __future__ import annotations

import math

import numpy as np

from tradingbot.domain.denial import ExitReason
from tradingbot.evaluation.backtest import Backtest, Trades
from tradingbot.evaluation.performance.tear_sheet.trade_record import (
    HoldingTimes,
    SymbolCourse,
    TradeLog,
    TradeRow,
)
from tradingbot.evaluation.statistics.inputs import IntArray

MOST_LISTED = 1_000
_POINTS = 48


def trade_log(played: Backtest, most: int = MOST_LISTED) -> TradeLog:
    """List trades by time; beyond `most`, half are the latest and half move most money."""
    trades = played.trades
    closed = trades.select(~trades.is_open)
    chosen = np.arange(len(trades))
    if len(trades) > most:
        latest = np.argsort(trades.exited_at, kind="stable")[-(most // 2) :]
        rest = np.setdiff1d(chosen, latest)
        largest = rest[np.argsort(-np.abs(trades.pnl_ccy[rest]), kind="stable")]
        chosen = np.concatenate([latest, largest[: most - most // 2]])
    order = np.lexsort((trades.symbol[chosen], trades.entered_at[chosen]))
    return TradeLog(
        n_trades=len(trades),
        n_open=int(trades.is_open.sum()),
        won_ccy=float(closed.pnl_ccy[closed.pnl_ccy > 0.0].sum()),
        lost_ccy=float(closed.pnl_ccy[closed.pnl_ccy < 0.0].sum()),
        rows=tuple(_trade_row(played, int(place)) for place in chosen[order]),
    )


def ending_of(trades: Trades, place: int) -> str:
    """Say what ended a trade."""
    if trades.is_open[place]:
        return "still open"
    reason = int(trades.reason[place])
    return ExitReason(reason).name.lower().replace("_", " ") if reason else "policy"


def minute_of(stamp: int | np.int64) -> str:
    """Write a time, µs since 1970 UTC, by the minute."""
    return str(np.datetime64(int(stamp), "us"))[:16].replace("T", " ")


def holding_times(trades: Trades) -> HoldingTimes:
    """Count closed trades by how long they lasted, in bins that double: 0, 1, 2–3, 4–7."""
    closed = trades.select(~trades.is_open)
    if not len(closed):
        return HoldingTimes(math.nan, 0, (), (), (), ())
    longest = int(closed.bars.max())
    edges = [0, 1]
    while edges[-1] <= longest:
        edges.append(edges[-1] * 2)
    bins = np.searchsorted(edges, closed.bars, side="right") - 1
    wins = closed.pnl_ccy > 0.0
    count = len(edges) - 1
    return HoldingTimes(
        median_bars=float(np.median(closed.bars)),
        longest_bars=longest,
        edges_bars=tuple(edges),
        won=tuple(np.bincount(bins[wins], minlength=count).tolist()),
        lost=tuple(np.bincount(bins[~wins], minlength=count).tolist()),
        pnl_ccy=tuple(np.bincount(bins, weights=closed.pnl_ccy, minlength=count).tolist()),
    )


def symbol_courses(played: Backtest) -> tuple[SymbolCourse, ...]:
    """Return every account in few numbers, in the order of the symbols."""
    places = np.unique(np.linspace(0, played.n_bars, _POINTS).round().astype(np.int64))
    count = np.bincount(played.trade_account, minlength=len(played.symbols))
    pnl = np.bincount(
        played.trade_account, weights=played.trades.pnl_ccy, minlength=len(played.symbols)
    )
    return tuple(
        SymbolCourse(
            symbol=symbol,
            n_trades=int(count[index]),
            total_return_frac=float(played.equity[-1, index] - 1.0),
            hold_return_frac=price[-1] - 1.0 if price else math.nan,
            pnl_ccy=float(pnl[index]),
            equity=tuple(played.equity[places, index].tolist()),
            price=price,
        )
        for index, symbol in enumerate(played.symbols)
        for price in (_relative_price(played, index, places),)
    )


def _relative_price(played: Backtest, index: int, places: IntArray) -> tuple[float, ...]:
    if played.close is None:
        return ()
    price = played.close[places, index]
    known = price[np.isfinite(price) & (price > 0.0)]
    return tuple((price / known[0]).tolist()) if len(known) else ()


def _trade_row(played: Backtest, place: int) -> TradeRow:
    trades = played.trades
    return TradeRow(
        symbol=played.traded[int(trades.symbol[place])],
        side=int(trades.side[place]),
        entered_at=minute_of(trades.entered_at[place]),
        exited_at=minute_of(trades.exited_at[place]),
        bars=int(trades.bars[place]),
        units=float(trades.units[place]),
        entry_price=float(trades.entry_price[place]),
        exit_price=float(trades.exit_price[place]),
        committed_ccy=float(trades.committed_ccy[place]),
        commission_ccy=float(trades.commission_ccy[place]),
        pnl_ccy=float(trades.pnl_ccy[place]),
        return_frac=float(trades.return_frac[place]),
        ended_by=ending_of(trades, place),
    )
