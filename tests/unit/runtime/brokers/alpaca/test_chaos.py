"""A session's book against the venue's, with everything failing at once and processes that die."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fakes.alpaca import FakeAlpaca, FaultPlan, FaultSchedule, VenueOptions
from fixtures.alpaca_broker import CREDENTIALS, settings_of
from fixtures.order_records import AT, intent
from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import OrderType, Side
from tradingbot.domain.position import position_from_fills
from tradingbot.runtime.approval import seal_intent
from tradingbot.runtime.brokers.alpaca.broker import AlpacaBroker
from tradingbot.runtime.order_book import BookAlert, OrderBook, open_order

SYMBOLS = ("SPY", "AAPL", "BRK-B")
RATES = {
    **dict.fromkeys(("drop_before", "drop_after", "500", "502_html_after", "504_after"), 0.04),
    **dict.fromkeys(("cut_after", "empty_after", "429"), 0.02),
    **dict.fromkeys(("hang_before", "hang_after", "late_accept"), 0.01),
    "unknown_status": 0.02,
}
OPERATIONS = ("submit", "find", "cancel", "orders", "activities", "order", "positions")


class Session:
    """What is left of a trading session when features, model and journal are taken away."""

    def __init__(self, fake: FakeAlpaca, seed: int) -> None:
        self.fake, self.book = fake, OrderBook()
        self.rng = np.random.default_rng(seed)
        self.alerts: list[BookAlert] = []
        self.broker = self.connect()

    def connect(self) -> AlpacaBroker:
        settings = settings_of(
            self.fake,
            timeout_s=0.05,
            longest_wait_s=0.02,
            submit_attempts=4,
            lookup_attempts=8,
            resync_every_s=0.1,
        )
        while True:
            try:
                return AlpacaBroker(CREDENTIALS, settings).__enter__()
            except BrokerUnavailableError:
                continue

    def step(self, k: int) -> None:
        order = open_order(self.draw_intent(k))
        self.book.add(order)  # written ahead
        if self.rng.random() < 0.05:
            self.die()  # before it was sent
        else:
            self.send(order.client_order_id)
        if self.rng.random() < 0.1:
            self.fake.drop_streams()
        if self.rng.random() < 0.3:
            self.broker.cancel(order.client_order_id)
        self.fake.do(tick=True)
        self.drain()

    def draw_intent(self, k: int) -> Any:
        side = Side.BUY if self.rng.random() < 0.7 else Side.SELL
        units = str(self.rng.integers(1, 30))
        limit: dict[str, Any] = {}
        if self.rng.random() < 0.5:
            price = Decimal(100 + int(self.rng.integers(-2, 3)))
            limit = {"order_type": OrderType.LIMIT, "limit_price": price}
        symbol = SYMBOLS[int(self.rng.integers(len(SYMBOLS)))]
        return intent(units, side, symbol=symbol, decided_at=AT + timedelta(hours=k), **limit)

    def send(self, client_order_id: str) -> None:
        report = self.broker.submit(seal_intent(self.book.orders[client_order_id].intent))
        if self.rng.random() < 0.05:
            self.die()  # before the answer was written
        else:
            self.book.answer(client_order_id, report)

    def die(self) -> None:
        """Lose the process, and find everything again."""
        self.broker.__exit__(None, None, None)
        self.broker = self.connect()
        self.reconcile()

    def drain(self) -> None:
        for update in self.broker.drain_updates():
            self.alerts += self.book.apply(update)

    def reconcile(self) -> None:
        for order in tuple(self.book.working()):
            try:
                found = self.broker.find_order(order.client_order_id)
                if found is None:
                    report = self.broker.submit(seal_intent(order.intent))
                    self.book.answer(order.client_order_id, report)
                else:
                    fills = self.broker.fills(AT.replace(year=2025))
                    ours = [each for each in fills if each.client_order_id == order.client_order_id]
                    self.alerts += self.book.adopt(found, ours)
            except BrokerUnavailableError:
                continue

    def finish(self) -> None:
        self.fake.do(faults={"schedule": None, "lost": 0.0, "doubled": 0.0, "swapped": 0.0})
        self.broker._wire._session._settings = settings_of(self.fake, timeout_s=5.0)
        for _ in range(3):
            self.reconcile()
            self.broker.cancel_all()
        self.reconcile()
        self.broker.__exit__(None, None, None)


@pytest.mark.parametrize(
    ("steps", "seed"),
    [(40, 1), *(pytest.param(400, seed, marks=pytest.mark.slow) for seed in (2, 3, 4))],
)
def test_book_equals_the_venue_after_faults_and_deaths(
    steps: int, seed: int, tmp_path: Path
) -> None:
    plan = FaultPlan(
        requests_per_minute=None,
        late_s=0.08,
        schedule=FaultSchedule(RATES, OPERATIONS, seed=seed),
        lost=0.1,
        doubled=0.1,
        swapped=0.1,
    )
    options = VenueOptions(
        partial_share=0.3, seed=seed, start_cash=Decimal("1e7"), symbols=("SPY", "AAPL", "BRK.B")
    )
    with FakeAlpaca(options, plan, store=tmp_path / "venue.jsonl") as fake:
        fake.do(quotes={symbol: ["99.9", "100.1"] for symbol in ("SPY", "AAPL", "BRK.B")})
        session = Session(fake, seed)
        for k in range(steps):
            session.step(k)
        session.finish()
        state, book = fake.state(), session.book

        ids = [row["client_order_id"] for row in state["orders"]]
        assert len(ids) == len(set(ids)), "duplicates"
        sent = {each.client_order_id for each in book.orders.values() if _was_taken(each.status)}
        assert set(ids) == sent, "an order is missing, or was never asked for"
        assert not list(book.working())
        for row in state["orders"]:
            order = book.orders[row["client_order_id"]]
            assert order.filled_units == Decimal(row["filled_qty"]), row["client_order_id"]
        held = {}
        for symbol in SYMBOLS:
            fills = [each for each in book.fills.values() if each.symbol == symbol]
            held[symbol.replace("-", ".")] = position_from_fills(symbol, fills).units
        assert {key: str(units) for key, units in held.items() if units} == state["positions"]
        assert len(book.fills) == len(state["activities"])
        assert sum(state["faults"].values()) > steps // 4, "the faults must have struck"
        assert BookAlert.EXTERNAL not in session.alerts
        assert BookAlert.OVERFILL not in session.alerts


def _was_taken(status: OrderStatus) -> bool:
    return status not in (OrderStatus.REJECTED, OrderStatus.DENIED, OrderStatus.APPROVED)
