"""The fake Alpaca on replayed bars, with the simulator's fills: for parity with a backtest.

The venue fills by hand: at the open of a bar each waiting order gets the units and the price that
the simulator gives it, and what is left of it expires. Commission is not charged: Alpaca has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

import torch

from fakes.alpaca.fake import FakeAlpaca
from fakes.alpaca.records import Quote, VenueAsset, VenueOrder
from tradingbot.market.account import Account
from tradingbot.market.advance import fill_order, open_terms
from tradingbot.market.bars import Bar
from tradingbot.market.costs import CostProfile
from tradingbot.market.ledger import apply_fill
from tradingbot.market.params import SimulatorParams

_STEP = Decimal("1e-9")


class ReplayedAlpaca:
    """A market for a fake Alpaca that fills `by_hand`; see `OwnVenue` of a session."""

    def __init__(self, fake: FakeAlpaca, rules: SimulatorParams, costs: CostProfile) -> None:
        self._fake, self._rules = fake, rules
        self._rates = costs.rates(dtype=torch.float64)

    def fill_orders(
        self, opened_at: datetime, symbols: Sequence[str], account: Account, bar: Bar
    ) -> None:
        """Execute what waits at the open of a bar; again for the same bar: nothing."""
        self._fake.call(lambda: self._fill(opened_at, symbols, account, bar))

    def pass_time(self, closed_at: datetime, symbols: Sequence[str], bar: Bar) -> None:
        """Go to the close of a bar, and quote its prices."""

        def go() -> None:
            venue = self._fake.venue
            venue.clock.set_to = closed_at
            for symbol, price in zip(symbols, bar.close.tolist(), strict=True):
                theirs, exact = _theirs(symbol), Decimal(price).quantize(_STEP)
                venue.assets.setdefault(theirs, VenueAsset(theirs))
                venue.quotes[theirs] = Quote(exact, exact)
                venue.last_prices[theirs] = exact

        self._fake.call(go)

    def _fill(
        self, opened_at: datetime, symbols: Sequence[str], account: Account, bar: Bar
    ) -> None:
        venue = self._fake.venue
        venue.clock.set_to = opened_at
        waiting = {_theirs(symbol): venue.open_of(_theirs(symbol)) for symbol in symbols}
        terms = open_terms(self._rules, account, bar)
        for turn in range(max((len(orders) for orders in waiting.values()), default=0)):
            lanes = [
                (lane, orders[turn])
                for lane, orders in enumerate(waiting.values())
                if turn < len(orders)
            ]
            wanted = torch.zeros_like(account.cash)
            for lane, order in lanes:
                wanted[lane] = order.sign * float(order.remaining)
            fill = fill_order(self._rules, self._rates, account, bar, wanted, terms)
            for lane, order in lanes:
                self._execute(order, fill.units[lane].item(), fill.price[lane].item())
            account = apply_fill(account, fill, torch.zeros_like(account.cash))
            terms = terms._replace(cap=terms.cap - fill.units.abs())
        venue.log.flush()

    def _execute(self, order: VenueOrder, units: float, price: float) -> None:
        exact = Decimal(abs(units)).quantize(_STEP)
        if exact > 0:
            self._fake.venue.execute(order, exact, Decimal(price).quantize(_STEP))
        if order.is_open:
            self._fake.venue.end(order, "expired")


def _theirs(symbol: str) -> str:
    return symbol.replace("-", ".")
