"""The trades of a backtest: listed, by how long they lasted, and on the prices of their symbols."""

from __future__ import annotations

import math

import numpy as np

from tradingbot.domain.denial import ExitReason
from tradingbot.evaluation.backtest import Backtest, Trades
from tradingbot.evaluation.performance.tear_sheet.trade_record import (
    HoldingTimes,
    PriceCourse,
    SymbolCourse,
    TradeLog,
    TradeMark,
    TradeRow,
)
from tradingbot.evaluation.statistics.inputs import FloatArray, IntArray

MOST_LISTED = 1_000
_MOST_MARKED, _STRETCHES, _POINTS, _PRICE_SYMBOLS = 60, 200, 48, 6


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


def price_courses(played: Backtest) -> tuple[PriceCourse, ...]:
    """Return the prices of the symbols that earned and lost most; of all where there are few."""
    if played.close is None:
        return ()
    count = np.bincount(played.trades.symbol, minlength=len(played.symbols))
    traded = np.flatnonzero(count)
    pnl = np.bincount(
        played.trades.symbol, weights=played.trades.pnl_ccy, minlength=len(played.symbols)
    )
    ranked = traded[np.argsort(-pnl[traded], kind="stable")]
    if len(ranked) > _PRICE_SYMBOLS:
        half = _PRICE_SYMBOLS // 2
        ranked = np.concatenate([ranked[:half], ranked[-half:]])
    return tuple(price_course(played, int(index)) for index in ranked)


def price_course(played: Backtest, index: int) -> PriceCourse:
    """Return the price of a symbol over its latest trades, thinned to highs and lows of stretches.

    Args:
        played: With closes.
        index: Of the symbol.
    """
    assert played.close is not None  # as was asked for
    mine = np.flatnonzero(played.trades.symbol == index)
    mine = mine[np.argsort(played.trades.entered_at[mine], kind="stable")]
    shown = played.trades.select(mine[-_MOST_MARKED:])
    begins, ends = (
        np.searchsorted(played.closed_at, each) for each in (shown.entered_at, shown.exited_at)
    )
    result = np.sign(shown.pnl_ccy).astype(np.int64)
    first = max(int(begins[0]) - 5, 0) if len(mine) > _MOST_MARKED else 0
    close = played.close[:, index]
    places = _extremes(close, first)
    return PriceCourse(
        symbol=played.symbols[index],
        n_trades=len(shown),
        of_trades=len(mine),
        pnl_ccy=float(played.trades.pnl_ccy[mine].sum()),
        days=tuple(minute_of(stamp) for stamp in played.closed_at[places]),
        places=tuple(places.tolist()),
        price=tuple(close[places].tolist()),
        held=tuple(zip(begins.tolist(), ends.tolist(), result.tolist(), strict=True)),
        marks=tuple(
            mark
            for trade in range(len(shown))
            for mark in _marks(shown, trade, int(begins[trade]), int(ends[trade]))
        ),
    )


def _marks(trades: Trades, trade: int, begin: int, end: int) -> list[TradeMark]:
    is_long = bool(trades.side[trade] > 0)
    word = "long" if is_long else "short"
    entry = TradeMark(
        begin,
        float(trades.entry_price[trade]),
        is_long,
        f"{minute_of(trades.entered_at[trade])}: {word} entry at {trades.entry_price[trade]:,.2f}",
    )
    if trades.is_open[trade]:
        return [entry]
    left = (
        f"{minute_of(trades.exited_at[trade])}: {word} exit at {trades.exit_price[trade]:,.2f}, "
        f"{trades.pnl_ccy[trade]:+,.2f} by {ending_of(trades, trade)}"
    )
    return [entry, TradeMark(end, float(trades.exit_price[trade]), not is_long, left)]


def _extremes(close: FloatArray, first: int) -> IntArray:
    """Return the places of the highest and lowest close of each stretch, and both ends."""
    known = first + np.flatnonzero(np.isfinite(close[first:]))
    if len(known) <= 2 * _STRETCHES:
        return known
    kept = {int(known[0]), int(known[-1])}
    for stretch in np.array_split(known, _STRETCHES):
        kept |= {int(stretch[np.argmin(close[stretch])]), int(stretch[np.argmax(close[stretch])])}
    return np.array(sorted(kept))


def _relative_price(played: Backtest, index: int, places: IntArray) -> tuple[float, ...]:
    if played.close is None:
        return ()
    price = played.close[places, index]
    known = price[np.isfinite(price) & (price > 0.0)]
    return tuple((price / known[0]).tolist()) if len(known) else ()


def _trade_row(played: Backtest, place: int) -> TradeRow:
    trades = played.trades
    put_in = float(trades.units[place] * trades.entry_price[place])
    return TradeRow(
        symbol=played.traded[int(trades.symbol[place])],
        side=int(trades.side[place]),
        entered_at=minute_of(trades.entered_at[place]),
        exited_at=minute_of(trades.exited_at[place]),
        bars=int(trades.bars[place]),
        units=float(trades.units[place]),
        entry_price=float(trades.entry_price[place]),
        exit_price=float(trades.exit_price[place]),
        commission_ccy=float(trades.commission_ccy[place]),
        pnl_ccy=float(trades.pnl_ccy[place]),
        return_frac=float(trades.pnl_ccy[place]) / put_in if put_in > 0.0 else math.nan,
        ended_by=ending_of(trades, place),
    )
