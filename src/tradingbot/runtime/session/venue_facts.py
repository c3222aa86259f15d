"""What the venue says when orders are judged: money, hours, positions, assets, prices.

All symbols of a bar, or of a kill, are asked for at once: requests do not grow with their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.domain.quote import Quote
from tradingbot.runtime.brokers.protocol import BrokerAccount, BrokerAsset
from tradingbot.runtime.session.desk import Desk


@dataclass(frozen=True)
class VenueFacts:
    """What the venue says when a bar is judged."""

    account: BrokerAccount
    is_closed: bool
    seconds_to_close: float
    clock_skew_s: float
    drift_units: float
    """Largest distance of a position from ours."""
    assets: Mapping[str, BrokerAsset]
    """Of the symbols that are asked for."""
    prices: Mapping[str, float] | None
    """What they trade at now; None: at their last close."""
    quotes: Mapping[str, Quote] | None
    """Bid and ask now; None where there are none: nothing is quoted, or the market is closed."""
    quoted_at: datetime
    """When they were told, by the venue's clock."""


def ask_venue(
    desk: Desk,
    clock: Callable[[], datetime],
    symbols: Sequence[str],
    *,
    closes: Mapping[str, float] | None = None,
) -> VenueFacts:
    """Ask for money, hours, positions, and what is allowed with some symbols.

    All of it before the first order is judged: an order that the gate approved counts, so that a
    venue which stops answering halfway would leave some that are not sent.

    Args:
        desk: With the venue.
        clock: Time of the session.
        symbols: Some of the session's.
        closes: Of orders that only reduce: their last closes, for what the source of prices cannot
            say. Quotes, which no such order is held to, are not asked for.

    Raises:
        BrokerUnavailableError: If the venue cannot be asked.
    """
    broker, asked_at = desk.broker, clock()
    venue = broker.clock()
    skew_s = measure_skew(asked_at, venue.now, clock())
    drift = desk.holdings.find_drift(broker.positions())
    # An order that waits for the opening meets another quote than that of a closed market.
    quotes = _ask_quotes(desk, symbols) if closes is None and venue.is_open else None
    return VenueFacts(
        broker.account(),
        not venue.is_open,
        (venue.next_close - venue.now).total_seconds(),
        skew_s,
        max((abs(float(units)) for units in drift.values()), default=0.0),
        broker.assets(symbols),
        _ask_prices(desk, symbols, closes),
        quotes,
        venue.now + (clock() - asked_at),
    )


def _ask_quotes(desk: Desk, symbols: Sequence[str]) -> Mapping[str, Quote] | None:
    return desk.quotes(symbols) if desk.quotes is not None and symbols else None


def _ask_prices(
    desk: Desk, symbols: Sequence[str], closes: Mapping[str, float] | None
) -> Mapping[str, float] | None:
    if desk.prices is None or not symbols:
        return None
    if closes is None:
        return desk.prices(symbols)
    try:
        found = desk.prices(symbols)
    except BrokerUnavailableError:  # the source of prices, not the venue: exits leave without it
        return closes
    return {**closes, **{key: each for key, each in found.items() if 0.0 < each < math.inf}}


def measure_skew(asked_at: datetime, told: datetime, answered_at: datetime) -> float:
    """Return by how many seconds our clock is ahead of the one that told its time.

    What the line takes is no skew: a time between the question and the answer may be right.
    """
    ahead, behind = (asked_at - told).total_seconds(), (answered_at - told).total_seconds()
    return max(ahead, 0.0) + min(behind, 0.0)
