"""Booking one fill: what is closed is realised, what is opened is averaged into the entry."""

from __future__ import annotations

from reference.scalar_simulator.actions import size_class
from reference.scalar_simulator.book import Book
from reference.scalar_simulator.fill import ScalarFill


def book_fill(book: Book, fill: ScalarFill, largest: float) -> Book:
    """Book a fill that is not empty; `largest` is the largest position at the decision."""
    if book.units == 0.0:
        return _opened(book, fill, largest)
    if (fill.units > 0.0) == (book.units > 0.0):
        return _increased(book, fill)
    return _reduced(book, fill, largest)


def _opened(book: Book, fill: ScalarFill, largest: float) -> Book:
    quantity, price, base, fee = fill
    value = abs(quantity) * price
    return Book(
        book.cash - quantity * price - fee,
        quantity,
        price,
        book.realised - fee,
        book.trade_pnl - fee,
        book.gross_profit,
        book.gross_loss,
        book.commission_paid + fee,
        book.slippage_paid + abs(quantity) * abs(price - base),
        book.turnover + value,
        holding_bars=0,
        adds=0,
        partial_exits=0,
        entry_class=size_class(value, largest),
        n_trades=book.n_trades,
        n_wins=book.n_wins,
    )


def _increased(book: Book, fill: ScalarFill) -> Book:
    quantity, price, base, fee = fill
    units = book.units + quantity
    return Book(
        book.cash - quantity * price - fee,
        units,
        (book.units * book.entry + quantity * price) / units,
        book.realised - fee,
        book.trade_pnl - fee,
        book.gross_profit,
        book.gross_loss,
        book.commission_paid + fee,
        book.slippage_paid + abs(quantity) * abs(price - base),
        book.turnover + abs(quantity) * price,
        book.holding_bars,
        book.adds + 1,
        book.partial_exits,
        book.entry_class,
        book.n_trades,
        book.n_wins,
    )


def _reduced(book: Book, fill: ScalarFill, largest: float) -> Book:
    quantity, price, base, fee = fill
    held, traded = abs(book.units), abs(quantity)
    closed = held if held < traded else traded
    move = price - book.entry if book.units > 0.0 else book.entry - price
    gained = closed * move - fee
    trade_pnl = book.trade_pnl + gained
    ended = traded >= held
    won = ended and trade_pnl > 0.0
    lost = ended and not won
    left = book.units + quantity
    entry, entry_class = book.entry, book.entry_class
    if traded > held:  # through zero: the rest opens the other way
        entry, entry_class = price, size_class(abs(left) * price, largest)
    elif ended:
        entry, entry_class = 0.0, 0
    return Book(
        book.cash - quantity * price - fee,
        left,
        entry,
        book.realised + gained,
        0.0 if ended else trade_pnl,
        book.gross_profit + trade_pnl if won else book.gross_profit,
        book.gross_loss - trade_pnl if lost else book.gross_loss,
        book.commission_paid + fee,
        book.slippage_paid + traded * abs(price - base),
        book.turnover + traded * price,
        0 if ended else book.holding_bars,
        0 if ended else book.adds,
        0 if ended else book.partial_exits + 1,
        entry_class,
        book.n_trades + ended,
        book.n_wins + won,
    )
