"""What every broker must do: one list of trades, for each venue of `fixtures.broker_venues`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from fixtures.broker_venues import VENUES, Venue
from fixtures.order_records import AT
from fixtures.session_orders import sale, wanted
from tradingbot.domain.errors import TradingError
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import OrderIntent
from tradingbot.runtime.approval import Approval, seal_intent
from tradingbot.runtime.brokers.protocol import SubmitOutcome, UpdateKind
from tradingbot.runtime.holdings import Holdings
from tradingbot.runtime.order_book import OrderBook, open_order


@pytest.fixture(params=VENUES)
def venue(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Venue]:
    opened = VENUES[request.param](tmp_path)
    yield opened
    opened.close()


class Trader:
    """Sends orders and folds what the venue reports."""

    def __init__(self, venue: Venue) -> None:
        self.venue, self.broker = venue, venue.broker
        self.start = self.broker.account().cash_ccy
        self.book, self.held = OrderBook(), Holdings(self.start)
        self.n_sent = 0

    def send(self, intent: OrderIntent) -> str:
        self.book.add(open_order(intent))
        self.book.move(intent.client_order_id, OrderStatus.SUBMITTED)
        report = self.broker.submit(seal_intent(intent))
        assert report.outcome is SubmitOutcome.ACCEPTED
        self.book.answer(intent.client_order_id, report)
        return intent.client_order_id

    def buy(self, units: str) -> str:
        self.n_sent += 1
        return self.send(wanted(self.n_sent, units=units))

    def sell(self, units: str) -> str:
        self.n_sent += 1
        return self.send(sale(self.n_sent, units=units))

    def listen(self) -> None:
        """Fold what was told, and hold it against what the venue says when asked."""
        for update in self.broker.drain_updates():
            self.book.apply(update)
        for fill in self.book.fills.values():
            self.held.book(fill)
        assert self.held.find_drift(self.broker.positions()) == {}
        assert self.held.cash_ccy == self.broker.account().cash_ccy
        for order in self.book.orders.values():
            found = self.broker.find_order(order.client_order_id)
            assert found is not None
            assert found.filled_units == order.filled_units
            assert found.status is order.status

    def position(self) -> Decimal:
        self.listen()
        return self.broker.positions().get("SPY", Decimal(0))


def test_long_from_zero_and_close_from_long(venue: Venue) -> None:
    trader = Trader(venue)
    order_id = trader.buy("10")
    assert [each.client_order_id for each in trader.broker.open_orders()] == [order_id]
    venue.trade("SPY", "100")
    assert trader.position() == 10
    assert trader.broker.open_orders() == ()

    trader.sell("10")
    venue.trade("SPY", "110")
    assert trader.position() == 0
    assert trader.broker.positions() == {}
    earned = Decimal(100) - venue.fees_frac * 2_100
    assert trader.broker.account().cash_ccy - trader.start == earned


def test_short_from_zero_and_close_from_short(venue: Venue) -> None:
    trader = Trader(venue)
    trader.sell("10")
    venue.trade("SPY", "100")
    assert trader.position() == -10

    trader.buy("10")
    venue.trade("SPY", "90")
    assert trader.position() == 0
    earned = Decimal(100) - venue.fees_frac * 1_900
    assert trader.broker.account().cash_ccy - trader.start == earned


def test_short_from_long_and_long_from_short(venue: Venue) -> None:
    trader = Trader(venue)
    trader.buy("10")
    venue.trade("SPY", "100")
    for _ in range(2):  # one order through zero is two at some venues: close, then open
        trader.sell("10")
        venue.trade("SPY", "100")
    assert trader.position() == -10
    for _ in range(2):
        trader.buy("10")
        venue.trade("SPY", "100")
    assert trader.position() == 10


def test_cancel_leaves_nothing_working(venue: Venue) -> None:
    trader = Trader(venue)
    order_id = trader.buy("10")
    assert trader.broker.cancel(order_id).outcome is SubmitOutcome.ACCEPTED
    venue.trade("SPY", "100")

    assert trader.position() == 0
    assert trader.book.orders[order_id].status is OrderStatus.CANCELLED
    assert trader.broker.open_orders() == ()
    # B30: a cancel of what is over is refused, and changes nothing
    assert trader.broker.cancel(order_id).outcome is SubmitOutcome.REJECTED
    assert trader.broker.cancel("never sent").outcome is SubmitOutcome.REJECTED


def test_partial_fill_keeps_what_was_filled(venue: Venue) -> None:  # B07
    trader = Trader(venue)
    order_id = trader.buy("10")
    venue.trade("SPY", "100", share="0.4")
    trader.broker.cancel(order_id)

    assert trader.position() == 4
    assert trader.book.orders[order_id].filled_units == 4
    assert trader.book.orders[order_id].status.is_final


def test_fills_are_found_again_and_told_once(venue: Venue) -> None:  # B08
    trader = Trader(venue)
    trader.buy("10")
    venue.trade("SPY", "100")
    told = trader.broker.drain_updates()

    fills = [each.fill for each in told if each.kind is UpdateKind.FILLED]
    assert tuple(fills) == trader.broker.fills(AT)
    assert trader.broker.drain_updates() == ()
    assert trader.broker.fills(fills[-1].filled_at + timedelta(seconds=1)) == ()  # type: ignore[union-attr]
    assert sum(each.quantity_units for each in fills) == 10  # type: ignore[union-attr]


def test_same_order_sent_again_is_one_order(venue: Venue) -> None:  # B02, B03
    trader = Trader(venue)
    order_id = trader.buy("10")
    again = trader.broker.submit(seal_intent(wanted(1, units="10")))
    assert again.outcome is not SubmitOutcome.UNKNOWN

    assert len(trader.broker.open_orders()) == 1
    venue.trade("SPY", "100")
    trader.broker.submit(seal_intent(wanted(1, units="10")))
    venue.trade("SPY", "100")
    assert trader.position() == 10
    assert trader.broker.find_order(order_id) is not None
    other = trader.broker.submit(seal_intent(wanted(1, units="11")))  # the id of another
    assert other.outcome is SubmitOutcome.REJECTED


def test_order_that_is_not_known_is_said_to_be_unknown(venue: Venue) -> None:  # B01
    assert venue.broker.find_order(wanted().client_order_id) is None


def test_nothing_is_sent_without_a_true_seal(venue: Venue) -> None:
    for forged in (Approval(wanted(), b"0" * 32), wanted()):
        with pytest.raises(TradingError, match=r"seal|approved"):
            venue.broker.submit(forged)  # type: ignore[arg-type]
    assert venue.broker.open_orders() == ()


def test_clock_account_and_asset_are_told(venue: Venue) -> None:
    clock, account = venue.broker.clock(), venue.broker.account()

    assert clock.now.utcoffset() is not None
    assert clock.next_close > clock.now
    assert account.cash_ccy == account.equity_ccy > 0
    assert account.buying_power_ccy > 0
    assert not account.is_blocked
    assert venue.broker.assets(["SPY"])["SPY"].tradable


def test_connection_that_stands_is_said(venue: Venue) -> None:
    assert venue.broker.disconnected_s() == 0.0
