"""The built-in paper broker in a session: it lives through the bars that the session takes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from tradingbot.domain.events.session import AlertLevel, AlertRaised
from tradingbot.domain.events.trading import StockSplitApplied
from tradingbot.domain.exact_number import MAX_DECIMALS
from tradingbot.market.account import Account
from tradingbot.market.bars import Bar
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.session.desk import Desk

_STEP = Decimal(1).scaleb(-MAX_DECIMALS)


VENUE_REWOUND = "VENUE_REWOUND"
"""Code of the alert where the paper broker knew orders that the journal does not."""


def rewind_venue(desk: Desk, broker: PaperBroker, now: datetime) -> None:
    """Let the paper broker be as the journal last saw it: bars since then are lived through again.

    A kill leaves fills that were not journaled yet. Orders that the journal does not hold are told:
    nothing is sent before it is written, so that an older journal was restored.
    """
    state = desk.journal.state(desk.session)
    known = desk.journal.order_book(desk.session)
    splits = {
        (each.symbol, each.at)
        for each in desk.journal.events(desk.session, StockSplitApplied)
        if isinstance(each, StockSplitApplied)
    }
    since = None if state is None else state.at
    n_later = broker.rewind(known.orders, known.fills, since, splits)
    if n_later:
        told = f"{n_later} orders of the paper broker are not in the journal; they were taken back"
        desk.record(AlertRaised(now, AlertLevel.WARNING, VENUE_REWOUND, told))


class OwnVenue(Protocol):
    """A venue that has no time and no market but those of the session's bars."""

    def fill_orders(
        self, opened_at: datetime, symbols: Sequence[str], account: Account, bar: Bar
    ) -> None:
        """Execute what works at the open of a bar; again for the same bar: nothing."""
        ...

    def pass_time(self, closed_at: datetime, symbols: Sequence[str], bar: Bar) -> None:
        """Go to the close of a bar."""
        ...


class PaperVenue:
    """The paper broker as such a venue."""

    def __init__(self, broker: PaperBroker) -> None:
        self._broker = broker

    def fill_orders(
        self, opened_at: datetime, symbols: Sequence[str], account: Account, bar: Bar
    ) -> None:
        """Execute as the simulator does."""
        self._broker.fill_orders(opened_at, symbols, account, bar)

    def pass_time(self, closed_at: datetime, symbols: Sequence[str], bar: Bar) -> None:
        """Value positions at the close."""
        prices = zip(symbols, bar.close.tolist(), strict=True)
        marks = {symbol: Decimal(price).quantize(_STEP) for symbol, price in prices}
        self._broker.pass_time(closed_at, marks)
