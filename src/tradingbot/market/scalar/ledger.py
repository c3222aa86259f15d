"""Booking one fill: what is closed is realised, what is opened is averaged into the entry."""

from __future__ import annotations

from tradingbot.market.scalar.actions import size_class
from tradingbot.market.scalar.book import Book
from tradingbot.market.scalar.fill import ScalarFill


def book_fill(book: Book, fill: ScalarFill, largest: float) -> Book:
    """Book a fill that is not empty; `largest` is the largest position at the decision."""
    if book.units == 0.0:
        changed = _opened(book, fill, largest)
    elif (fill.units > 0.0) == (book.units > 0.0):
        changed = _increased(book, fill)
    else:
        changed = _reduced(book, fill, largest)
    return changed


def _paid(book: Book, fill: ScalarFill) -> tuple[float, float, float, float]:
    """Return cash and the running sums of commission, slippage and turnover after a fill."""
    return (
        book.cash - fill.units * fill.price - fill.fee,
        book.commission_paid + fill.fee,
        book.slippage_paid + fill.slippage,
        book.turnover + fill.value,
    )


def _opened(book: Book, fill: ScalarFill, largest: float) -> Book:
    cash, commission, slippage, turnover = _paid(book, fill)
    return book._replace(
        cash=cash,
        units=fill.units,
        entry=fill.price,
        realised=book.realised - fill.fee,
        trade_pnl=book.trade_pnl - fill.fee,
        commission_paid=commission,
        slippage_paid=slippage,
        turnover=turnover,
        holding_bars=0,
        adds=0,
        partial_exits=0,
        entry_class=size_class(fill.value, largest),
    )


def _increased(book: Book, fill: ScalarFill) -> Book:
    cash, commission, slippage, turnover = _paid(book, fill)
    units = book.units + fill.units
    return book._replace(
        cash=cash,
        units=units,
        entry=(book.units * book.entry + fill.units * fill.price) / units,
        realised=book.realised - fill.fee,
        trade_pnl=book.trade_pnl - fill.fee,
        commission_paid=commission,
        slippage_paid=slippage,
        turnover=turnover,
        adds=book.adds + 1,
    )


def _reduced(book: Book, fill: ScalarFill, largest: float) -> Book:
    cash, commission, slippage, turnover = _paid(book, fill)
    held, traded = abs(book.units), abs(fill.units)
    side = 1.0 if book.units > 0.0 else -1.0
    gained = side * (fill.price - book.entry) * min(held, traded) - fill.fee
    changed = book._replace(
        cash=cash,
        realised=book.realised + gained,
        trade_pnl=book.trade_pnl + gained,
        commission_paid=commission,
        slippage_paid=slippage,
        turnover=turnover,
    )
    if traded == held:
        return _ended(changed, 0.0, 0.0, 0)
    left = book.units + fill.units
    if traded > held:
        return _ended(changed, left, fill.price, size_class(abs(left) * fill.price, largest))
    return changed._replace(units=left, partial_exits=book.partial_exits + 1)


def _ended(book: Book, units: float, entry: float, entry_class: int) -> Book:
    """End the trade; `units` opened at `entry` are what the fill turned it into."""
    pnl = book.trade_pnl
    won = pnl > 0.0
    return book._replace(
        units=units,
        entry=entry,
        trade_pnl=0.0,
        gross_profit=book.gross_profit + (pnl if won else 0.0),
        gross_loss=book.gross_loss - (0.0 if won else pnl),
        holding_bars=0,
        adds=0,
        partial_exits=0,
        entry_class=entry_class,
        n_trades=book.n_trades + 1,
        n_wins=book.n_wins + won,
    )
