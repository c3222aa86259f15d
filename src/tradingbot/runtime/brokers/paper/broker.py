"""The built-in paper broker: a venue in a file, with the simulator's fills and costs.

It behaves like a venue: it keeps its own orders, executions, positions and cash, knows a client
order id for ever, and tells by messages that may be read late. What fills is what the simulator
fills (`market.advance.fill_order`): of the same bars a session ends with the cash of the backtest
with `quantity_decimals` to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import torch

from tradingbot.domain.errors import TradingError
from tradingbot.domain.exact_number import MAX_DECIMALS
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import require_zone
from tradingbot.domain.position import Fill
from tradingbot.market.account import Account
from tradingbot.market.advance import FillTerms, fill_order, open_terms
from tradingbot.market.bars import Bar
from tradingbot.market.costs import CostProfile
from tradingbot.market.ledger import FillBatch, apply_fill
from tradingbot.market.params import SimulatorParams
from tradingbot.runtime.approval import Approval, require_seal
from tradingbot.runtime.brokers.paper.execution import (
    add_fills,
    exact_of,
    is_beyond_limit,
    split_fill,
    take_turns,
)
from tradingbot.runtime.brokers.paper.options import PaperOptions
from tradingbot.runtime.brokers.paper.rewinding import rewind_books
from tradingbot.runtime.brokers.paper.rows import WorkingOrder
from tradingbot.runtime.brokers.paper.split_books import list_splits, split_books
from tradingbot.runtime.brokers.paper.store import PaperStore
from tradingbot.runtime.brokers.protocol import (
    BrokerAccount,
    BrokerAsset,
    BrokerClock,
    BrokerOrder,
    BrokerUpdate,
    SubmitOutcome,
    SubmitReport,
    UpdateKind,
    always_open,
)
from tradingbot.runtime.stock_split import StockSplit


class PaperBroker:
    """A venue behind `Broker`; `pass_time` and `fill_orders` are what happens there."""

    def __init__(
        self,
        path: Path,
        rules: SimulatorParams,
        costs: CostProfile,
        options: PaperOptions | None = None,
        clock: Callable[[datetime], BrokerClock] | None = None,
    ) -> None:
        """Open the venue's file, or begin one.

        Args:
            path: SQLite file.
            rules: Of the fills; its `quantity_decimals` must be given.
            costs: Of the fills.
            options: Behaviour.
            clock: Moment → trading session; always open where None.

        Raises:
            TradingError: If the rules fill units that no venue takes.
            StorageError: If the file cannot be read.
        """
        if rules.account.quantity_decimals is None:
            rule = "quantity_decimals must be given for a venue"
            raise TradingError(rule, was=None, where=str(path), remedy=f"Use {MAX_DECIMALS}")
        self.rules, self.options = rules, options or PaperOptions()
        self._latency = timedelta(seconds=self.options.latency_s)
        self._rates = costs.rates(dtype=torch.float64)
        synchronous = "FULL" if self.options.survives_power_loss else "NORMAL"
        self._store = PaperStore(path, Decimal(str(self.options.cash_ccy)), synchronous=synchronous)
        self._clock = clock or always_open
        self._assets: dict[str, BrokerAsset] = {}
        self._marks: dict[str, Decimal] = {}
        self._now: datetime | None = None

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def pass_time(self, now: datetime, marks: Mapping[str, Decimal] | None = None) -> None:
        """Say which time it is at the venue, and at which prices positions are valued."""
        require_zone(now, "now", "PaperBroker.pass_time")
        self._now = now
        self._marks.update(marks or {})

    def rewind(
        self,
        orders: Container[str],
        fills: Container[str],
        since: datetime | None,
        splits: Collection[tuple[str, datetime]] = (),
    ) -> int:
        """Be again as a trader last knew it, who lives through the bars since then again.

        Args:
            orders: Ids of those that the trader knows; others are taken back.
            fills: The same of fills.
            since: Of fills those at or after this moment; None: all.
            splits: Symbol and moment of those that the trader knows.

        Returns:
            How many orders were taken back.
        """
        with self._store.transaction():
            return rewind_books(self._store, orders, fills, splits, since)

    def split(self, split: StockSplit, at: datetime) -> Decimal:
        """Change units without a trade, once; return what was paid for fractions.

        Raises:
            ConfigError: If the symbol was traded since then: in new units already.
        """
        step = Decimal(1).scaleb(-(self.rules.account.quantity_decimals or 0))
        known, mark = list_splits(self._store), self._marks.get(split.symbol)
        with self._store.transaction():
            cash, ended = split_books(self._store, split, at, mark or Decimal(0), step)
            for each in ended:
                self._tell(UpdateKind.CANCELLED, each, self._require_time())
        if mark is not None and (split.symbol, at) not in known:
            self._marks[split.symbol] = split.price(mark)
        return cash

    def list_asset(self, asset: BrokerAsset) -> None:
        """Say what is allowed with a symbol: halts, and units that are not lent."""
        self._assets[asset.symbol] = asset

    def submit(self, approval: Approval) -> SubmitReport:
        """Take an order; one whose id is known is the one that is known."""
        intent = require_seal(approval)
        with self._store.transaction():
            known = self._store.find_content(intent.client_order_id)
            venue_id = f"paper-{intent.client_order_id}"
            if known is not None:
                if known == intent.content_key:
                    return SubmitReport(SubmitOutcome.ACCEPTED, venue_id)
                reason = "client_order_id must be unique"
                return SubmitReport(SubmitOutcome.REJECTED, reason=reason, code="duplicate_id")
            asset = self.assets([intent.symbol])[intent.symbol]
            if not asset.tradable or asset.halted:
                reason = f"{intent.symbol} is not traded now"
                return SubmitReport(SubmitOutcome.REJECTED, reason=reason, code="asset")
            now = self._require_time()
            self._store.add_order(intent, now, now + self._latency)
            self._tell(UpdateKind.ACCEPTED, intent.client_order_id, now)
        return SubmitReport(SubmitOutcome.ACCEPTED, venue_id)

    def cancel(self, client_order_id: str) -> SubmitReport:
        """Cancel what is left of an order, at once."""
        with self._store.transaction():
            order = self._store.find_order(client_order_id)
            if order is None:
                return SubmitReport(SubmitOutcome.REJECTED, None, "order not found", "not_found")
            if not order.is_open:
                reason = f"order is {order.status}"
                return SubmitReport(SubmitOutcome.REJECTED, order.venue_order_id, reason, "final")
            self._store.set_status(client_order_id, OrderStatus.CANCELLED)
            self._tell(UpdateKind.CANCELLED, client_order_id, self._require_time())
        return SubmitReport(SubmitOutcome.ACCEPTED, order.venue_order_id)

    def cancel_all(self) -> tuple[BrokerOrder, ...]:
        """Cancel every open order, at once."""
        for order in self.open_orders():
            self.cancel(order.client_order_id)
        return self.open_orders()

    def fill_orders(
        self,
        at: datetime,
        symbols: Sequence[str],
        account: Account,
        bar: Bar,
        terms: FillTerms | None = None,
    ) -> FillBatch:
        """Execute what works in a bar, as the simulator does; the rest of an order expires.

        Called again for the same bar, as after a restart, it finds nothing left to execute.

        Args:
            at: When the bar opened; orders that reach the market later wait.
            symbols: N names.
            account: N accounts, one per symbol: their cash and units bound the fills.
            bar: (N,) the bar.
            terms: Price and volume of exits within the bar; those at the open where None.

        Returns:
            (N,) what was executed of each symbol in all.
        """
        lanes = {symbol: lane for lane, symbol in enumerate(symbols)}
        terms = open_terms(self.rules, account, bar) if terms is None else terms
        total = FillBatch(*(torch.zeros_like(account.cash) for _ in FillBatch._fields))
        with self._store.transaction():
            waiting = [each for each in self._store.working_orders(at) if each.symbol in lanes]
            for turn in take_turns(waiting):
                order = torch.zeros_like(account.cash)
                for each in turn:
                    order[lanes[each.symbol]] = each.side.sign * float(each.units)
                fill = fill_order(self.rules, self._rates, account, bar, order, terms)
                refused = [each for each in turn if is_beyond_limit(each, fill, lanes[each.symbol])]
                if refused:
                    order[[lanes[each.symbol] for each in refused]] = 0.0
                    fill = fill_order(self.rules, self._rates, account, bar, order, terms)
                for each in turn:
                    self._execute(each, fill, lanes[each.symbol], at)
                account = apply_fill(account, fill, torch.zeros_like(account.cash))
                terms = terms._replace(cap=terms.cap - fill.units.abs())
                total = add_fills(total, fill)
        return total

    def find_order(self, client_order_id: str) -> BrokerOrder | None:
        """Look an order up."""
        return self._store.find_order(client_order_id)

    def find_orders(self, client_order_ids: Sequence[str]) -> dict[str, BrokerOrder]:
        """Look orders up."""
        find = self._store.find_order
        return {each: found for each in client_order_ids if (found := find(each)) is not None}

    def open_orders(self) -> tuple[BrokerOrder, ...]:
        """Return every order that may still fill."""
        return self._store.open_orders()

    def fills(self, since: datetime) -> tuple[Fill, ...]:
        """Return executions at or after a moment."""
        return self._store.fills(since)

    def positions(self) -> dict[str, Decimal]:
        """Return symbol → signed units."""
        return self._store.positions()

    def account(self) -> BrokerAccount:
        """Return the money; a position without a price is valued at the price of its last fill."""
        cash, marks, positions = self._store.cash_ccy, {**self._marks}, self._store.positions()
        if missing := set(positions) - set(marks):
            for fill in self._store.fills(datetime.min.replace(tzinfo=self._require_time().tzinfo)):
                if fill.symbol in missing:
                    marks[fill.symbol] = fill.price
        equity = cash + sum(units * marks[symbol] for symbol, units in positions.items())
        shorts = sum(-units * marks[symbol] for symbol, units in positions.items() if units < 0)
        return BrokerAccount(cash, equity, max(cash - 2 * shorts, Decimal(0)), is_blocked=False)

    def clock(self) -> BrokerClock:
        """Return the venue's time."""
        return self._clock(self._require_time())

    def assets(self, symbols: Sequence[str]) -> dict[str, BrokerAsset]:
        """Return what is allowed with symbols: everything, unless one was listed otherwise."""
        usual = (*(True,) * 3, False)
        return {each: self._assets.get(each, BrokerAsset(each, *usual)) for each in symbols}

    def drain_updates(self) -> tuple[BrokerUpdate, ...]:
        """Return what has reached the trader since the last call."""
        with self._store.transaction():
            return self._store.take_updates(self._require_time())

    def disconnected_s(self) -> float:
        """Return 0: the venue is a file of this machine."""
        return 0.0

    def _require_time(self) -> datetime:
        if self._now is None:
            rule = "the venue's time must be told first"
            raise TradingError(rule, was=None, where="PaperBroker", remedy="Call pass_time")
        return self._now

    def _tell(
        self, kind: UpdateKind, client_order_id: str, at: datetime, fill: Fill | None = None
    ) -> None:
        order = self._store.find_order(client_order_id)
        filled = None if order is None else order.filled_units
        update = BrokerUpdate(kind, client_order_id, at, fill=fill, filled_units=filled)
        self._store.add_update(update, at + self._latency)

    def _execute(self, order: WorkingOrder, fill: FillBatch, lane: int, at: datetime) -> None:
        price, fee = exact_of(fill.price[lane].item()), exact_of(fill.fee[lane].item())
        # A speck that the simulator closes with the position is no more than was asked for.
        units = min(exact_of(abs(fill.units[lane].item())), order.units)
        if units > 0:
            for part_units, part_fee in split_fill(units, fee, self.options.parts):
                booked = self._store.add_fill(order, part_units, price, part_fee, at)
                self._tell(UpdateKind.FILLED, order.client_order_id, at, booked)
        if units < order.units and order.lapses:
            self._store.set_status(order.client_order_id, OrderStatus.EXPIRED)
            self._tell(UpdateKind.EXPIRED, order.client_order_id, at)
