"""Orders at the replayed Alpaca fill as in the built-in paper broker, to the last digit."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import torch

from fakes.alpaca import FakeAlpaca, VenueOptions
from fakes.alpaca.replay import ReplayedAlpaca
from fixtures.alpaca_broker import CREDENTIALS, drain_until, numbered, send, settings_of
from fixtures.broker_venues import VENUE_RULES
from fixtures.order_records import AT
from tradingbot.market.account import open_accounts
from tradingbot.market.bars import Bar
from tradingbot.market.costs import CostProfile
from tradingbot.runtime.brokers.alpaca.broker import AlpacaBroker
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.brokers.protocol import UpdateKind

SYMBOLS = ("SPY", "BRK-B", "AAPL")
COSTS = CostProfile(spread_frac=3e-4, impact_coef=0.1)


def test_fills_are_those_of_the_paper_broker(tmp_path: Path) -> None:
    opened, closed = AT + timedelta(minutes=1), AT + timedelta(hours=1)
    price = torch.tensor([100.123, 411.77, 33.3], dtype=torch.float64)
    volume = torch.tensor([1e6, 20.0, 1e6], dtype=torch.float64)  # the second has too little
    bar = Bar(price, price, price, price, volume, price * 0 + 0.01, price * 0 + 1)
    accounts = open_accounts(50_000.0, torch.zeros(3, dtype=torch.int32), price)
    wanted = [
        numbered(k, units, symbol=symbol)
        for k, (symbol, units) in enumerate(zip(SYMBOLS, ("12.345678901", "30", "7"), strict=True))
    ]
    paper = PaperBroker(tmp_path / "venue.db", VENUE_RULES, COSTS)
    paper.pass_time(AT)
    with FakeAlpaca(VenueOptions(fills="by_hand")) as fake:
        market = ReplayedAlpaca(fake, VENUE_RULES, COSTS)
        market.pass_time(AT, SYMBOLS, bar)
        with AlpacaBroker(CREDENTIALS, settings_of(fake), SYMBOLS) as broker:
            for each in wanted:
                send(broker, each)
                send(paper, each)  # type: ignore[arg-type]
            for _ in range(2):  # the second finds nothing left
                market.fill_orders(opened, SYMBOLS, accounts, bar)
                paper.fill_orders(opened, SYMBOLS, accounts, bar)
            market.pass_time(closed, SYMBOLS, bar)

            executed = {
                each.symbol: (each.quantity_units, each.price, each.filled_at)
                for each in broker.fills(AT)
            }
            assert executed == {
                each.symbol: (each.quantity_units, each.price, each.filled_at)
                for each in paper.fills(AT)
            }
            assert executed["BRK-B"][0] == Decimal(2), "a tenth of the volume"
            assert broker.positions() == paper.positions()
            told = drain_until(
                broker, lambda so_far: any(each.kind is UpdateKind.EXPIRED for each in so_far)
            )
            own = [each for each in told if each.client_order_id == wanted[1].client_order_id]
            assert own[-1].kind is UpdateKind.EXPIRED
            assert broker.account().cash_ccy == fake.venue.cash
    paper.close()
