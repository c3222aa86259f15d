"""Prices of symbols, with the fills of their trades."""

from __future__ import annotations

import numpy as np

from tradingbot.evaluation.backtest import Backtest, Trades
from tradingbot.evaluation.backtest.trades import Fills, executions
from tradingbot.evaluation.performance.tear_sheet.trade_record import PriceCourse, TradeMark
from tradingbot.evaluation.performance.tear_sheet.trades import ending_of, minute_of
from tradingbot.evaluation.statistics.inputs import FloatArray, IntArray

_MOST_TRADES, _MOST_FILLS, _STRETCHES, _PRICE_SYMBOLS = 60, 300, 200, 6


def has_prices(played: Backtest) -> bool:
    """Tell whether prices and fills of single symbols are known."""
    return played.close is not None and played.fills is not None


def price_courses(played: Backtest) -> tuple[PriceCourse, ...]:
    """Return the prices of the symbols that earned and lost most; of all where there are few."""
    if not has_prices(played):
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
    shown = played.trades.select(mine[-_MOST_TRADES:])
    begins, ends = (
        np.searchsorted(played.closed_at, each) for each in (shown.entered_at, shown.exited_at)
    )
    result = np.sign(shown.pnl_ccy).astype(np.int64)
    first = max(int(begins[0]) - 5, 0) if len(mine) > _MOST_TRADES else 0
    close = played.close[:, index]
    places = _extremes(close, first)
    n_fills, marks = _marks(played, index, shown)
    return PriceCourse(
        symbol=played.symbols[index],
        n_trades=len(shown),
        of_trades=len(mine),
        n_fills=n_fills,
        pnl_ccy=float(played.trades.pnl_ccy[mine].sum()),
        days=tuple(minute_of(stamp) for stamp in played.closed_at[places]),
        places=tuple(places.tolist()),
        price=tuple(close[places].tolist()),
        held=tuple(zip(begins.tolist(), ends.tolist(), result.tolist(), strict=True)),
        marks=marks,
    )


def _marks(played: Backtest, index: int, shown: Trades) -> tuple[int, tuple[TradeMark, ...]]:
    """Return how many fills a symbol's latest trades have, and those of them that are drawn."""
    assert played.fills is not None  # as was asked for
    mine = played.fills.lane == index
    rows, trade = executions(Fills._make(column[mine] for column in played.fills))
    trade = trade - (int(trade[-1]) + 1 - len(shown))
    rows, trade = Fills._make(column[trade >= 0] for column in rows), trade[trade >= 0]
    is_first = np.diff(trade, prepend=-1) > 0
    is_last = np.append(is_first[1:], True) & ~shown.is_open[trade]
    # An entry and an exit are worth more to a reader than what lies between them.
    size = np.where(is_first | is_last, np.inf, np.abs(rows.units))
    kept = np.sort(np.argsort(-size, kind="stable")[:_MOST_FILLS])
    opens = rows.units * shown.side[trade] > 0.0
    part = np.where(opens, np.where(is_first, "entry", "add"),
                    np.where(is_last, "exit", "partial exit"))  # fmt: skip
    marks = tuple(
        _mark(played, rows, place, shown, int(trade[place]), str(part[place]))
        for place in kept.tolist()
    )
    return len(trade), marks


def _mark(
    played: Backtest, rows: Fills, place: int, shown: Trades, trade: int, part: str
) -> TradeMark:
    units, price, step = float(rows.units[place]), float(rows.price[place]), int(rows.step[place])
    side, does = "long" if shown.side[trade] > 0 else "short", "bought" if units > 0.0 else "sold"
    hint = (
        f"{minute_of(played.closed_at[step])}: {side} {part}, {does} {abs(units):,.6g} at "
        f"{price:,.2f}"
    )
    if part == "exit":
        hint += f"; the trade made {shown.pnl_ccy[trade]:+,.2f}, ended by {ending_of(shown, trade)}"
    return TradeMark(step, price, units > 0.0, part, abs(units), hint)


def _extremes(close: FloatArray, first: int) -> IntArray:
    """Return the places of the highest and lowest close of each stretch, and both ends."""
    known = first + np.flatnonzero(np.isfinite(close[first:]))
    if len(known) <= 2 * _STRETCHES:
        return known
    kept = {int(known[0]), int(known[-1])}
    for stretch in np.array_split(known, _STRETCHES):
        kept |= {int(stretch[np.argmin(close[stretch])]), int(stretch[np.argmax(close[stretch])])}
    return np.array(sorted(kept))
