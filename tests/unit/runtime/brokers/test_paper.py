"""The built-in paper broker: the backtest's fills to the last digit, durable, in parts, late."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import torch

from fixtures.broker_venues import VENUE_RULES, PaperVenue
from fixtures.order_records import AT
from fixtures.session_orders import ASSET, sale, wanted
from tradingbot.domain.errors import StorageError, TradingError
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import OrderIntent, OrderType, Side, TimeInForce
from tradingbot.domain.seeding import stream
from tradingbot.market.account import Account, open_accounts
from tradingbot.market.actions.decision import Decision
from tradingbot.market.advance import (
    advance,
    decode,
    exit_terms,
    send_order,
    settle_bar,
)
from tradingbot.market.bars import Bar
from tradingbot.market.buying_power import buying_power_of
from tradingbot.market.costs import COST_PROFILES, CostProfile
from tradingbot.market.exits import stop_within_bar
from tradingbot.market.ledger import FillBatch, apply_fill
from tradingbot.market.params import AccountRules, ActionRules, SimulatorParams
from tradingbot.market.quantity import round_units
from tradingbot.risk.limits import RiskLimits
from tradingbot.runtime.approval import seal_intent
from tradingbot.runtime.brokers.paper.broker import PaperBroker
from tradingbot.runtime.brokers.paper.options import PaperOptions
from tradingbot.runtime.brokers.protocol import SubmitOutcome, UpdateKind

N, BARS = 5, 45
SYMBOLS = [f"S{i}" for i in range(N)]
COSTS = CostProfile(1e-4, 2e-4, spread_frac=1e-4, impact_coef=0.5)
RULES = SimulatorParams(
    AccountRules(quantity_decimals=9, stop_loss_frac=0.02, max_participation_frac=0.01),
    RiskLimits(max_position_frac=1.0, allow_short=True, reserve_frac=0.05),
    ActionRules(space="target", smoothing_bars=1),
)


def market() -> list[Bar]:
    """Draw bars of N symbols, some thin and some without a trade."""
    rng, made = stream(11, "paper broker"), []
    close = 100.0 * np.exp(rng.normal(0.0, 0.3, N))
    for _ in range(BARS):
        open_ = close * np.exp(rng.normal(0.0, 0.004, N))
        close = open_ * np.exp(rng.normal(0.0, 0.012, N))
        high = np.maximum(open_, close) * (1.0 + rng.uniform(0.0, 0.01, N))
        low = np.minimum(open_, close) * (1.0 - rng.uniform(0.0, 0.01, N))
        tradable = (rng.uniform(size=N) < 0.95).astype(float)
        volume = rng.lognormal(9.0, 2.0, N) * tradable
        columns = (open_, high, low, close, volume, np.full(N, 0.01), tradable)
        made.append(Bar(*(torch.from_numpy(np.array(each)) for each in columns)))
    return made


def intent_of(bar: int, lane: int, units: float, sequence: int = 0) -> OrderIntent:
    return OrderIntent(
        SYMBOLS[lane],
        Side.BUY if units > 0.0 else Side.SELL,
        Decimal(abs(units)).quantize(Decimal("1e-9")),
        AT + timedelta(hours=bar),
        "5f3a",
        sequence,
    )


def reported(broker: PaperBroker, base: torch.Tensor) -> FillBatch:
    """Put together what the venue told of one bar, as a session does from messages alone."""
    units, price, fee = (torch.zeros(N, dtype=torch.float64) for _ in range(3))
    exact = [Decimal(0)] * N
    fees = [Decimal(0)] * N
    for update in broker.drain_updates():
        if update.fill is not None:
            lane = SYMBOLS.index(update.fill.symbol)
            exact[lane] += update.fill.signed_units
            fees[lane] += update.fill.fee_ccy
            price[lane] = float(update.fill.price)
    for lane in range(N):
        units[lane], fee[lane] = float(exact[lane]), float(fees[lane])
    return FillBatch(units, price, torch.where(units != 0.0, base, 0.0), fee)


def send(broker: PaperBroker, bar: int, order: torch.Tensor, sequence: int = 0) -> None:
    for lane in range(N):
        if order[lane] != 0.0:
            intent = intent_of(bar, lane, order[lane].item(), sequence)
            assert float(intent.quantity_units) == abs(order[lane].item())  # nothing is lost
            assert broker.submit(seal_intent(intent)).outcome is SubmitOutcome.ACCEPTED


@pytest.mark.parametrize("parts", [1, 4])
def test_session_at_the_paper_broker_is_the_backtest_to_the_last_bit(
    tmp_path: Path, parts: int
) -> None:
    bars, rates = market(), COSTS.rates(dtype=torch.float64)
    options = PaperOptions(cash_ccy=5e5, parts=parts, survives_power_loss=False)
    broker = PaperBroker(tmp_path / "venue.db", RULES, COSTS, options)
    rows = torch.zeros(N, dtype=torch.int32)
    simulated = live = open_accounts(1e5, rows, bars[0].close)
    rng, n_exits, n_fills = torch.Generator().manual_seed(3), 0, 0
    for number, bar in enumerate(bars[1:]):
        action = torch.rand(N, generator=rng, dtype=torch.float64) * 2.0 - 1.0
        expected = advance(RULES, rates, simulated, bar, action)
        simulated = expected.after

        broker.pass_time(AT + timedelta(hours=number))
        room = buying_power_of(RULES.limits, rates, live, live.equity)
        decision: Decision = decode(RULES, live, room, action)
        sent = send_order(RULES, live, decision, room.largest)
        send(broker, number, sent.order)
        broker.pass_time(AT + timedelta(hours=number + 1))
        broker.fill_orders(AT + timedelta(hours=number + 1), SYMBOLS, live, bar)
        fill = reported(broker, bar.open)
        held = apply_fill(live, fill, room.largest)
        held = held._replace(units=round_units(held.units, 9))
        stopped, base = stop_within_bar(RULES.account, held, bar)
        order = torch.where(stopped != 0, -held.units, 0.0)
        send(broker, number, order, sequence=1)
        terms = exit_terms(RULES, bar, base, fill)
        broker.fill_orders(AT + timedelta(hours=number + 1), SYMBOLS, held, bar, terms)
        exit_fill = reported(broker, base)
        live = settle_bar(RULES, rates, live, bar, sent, fill, exit_fill).after

        n_fills += int((fill.units != 0.0).sum())
        n_exits += int((exit_fill.units != 0.0).sum())
        for name in Account._fields:
            assert torch.equal(getattr(live, name), getattr(simulated, name)), (number, name)
    assert n_exits > 5
    assert n_fills > 100
    positions = broker.positions()
    assert [float(positions.get(symbol, 0)) for symbol in SYMBOLS] == live.units.tolist()
    assert float(broker.account().cash_ccy) == pytest.approx(live.cash.sum().item(), abs=1e-4)
    assert broker.open_orders() == ()


def test_B13_venue_keeps_everything_when_the_trader_is_killed(tmp_path: Path) -> None:
    code = """
import os, sys, signal
from pathlib import Path
from fixtures.broker_venues import PaperVenue
from fixtures.session_orders import wanted
from tradingbot.runtime.approval import seal_intent
venue = PaperVenue(Path(sys.argv[1]))
venue.broker.submit(seal_intent(wanted(1)))
venue.trade("SPY", "100")
venue.broker.submit(seal_intent(wanted(2, units="7")))
os.kill(os.getpid(), signal.SIGKILL)
"""
    tests = str(Path(__file__).parents[3])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    run = subprocess.run([sys.executable, "-c", code, tmp_path], env=environment, check=False)
    assert run.returncode == -signal.SIGKILL

    venue = PaperVenue(tmp_path)

    assert venue.broker.positions() == {"SPY": Decimal(10)}
    assert [each.quantity_units for each in venue.broker.open_orders()] == [7]
    again = venue.broker.submit(seal_intent(wanted(2, units="7")))  # looked up, not a second one
    assert again.outcome is SubmitOutcome.ACCEPTED
    assert len(venue.broker.open_orders()) == 1
    venue.broker.pass_time(AT + timedelta(days=1))
    kinds = [each.kind for each in venue.broker.drain_updates()]
    assert kinds == [UpdateKind.ACCEPTED, UpdateKind.FILLED, UpdateKind.ACCEPTED]


@pytest.mark.parametrize(("survives", "level"), [(True, 2), (False, 1)])
def test_requests_are_on_the_disk_before_they_are_answered(
    tmp_path: Path, survives: bool, level: int
) -> None:
    venue = PaperVenue(tmp_path, PaperOptions(survives_power_loss=survives))
    database = venue.broker._store._database
    assert database.execute("PRAGMA synchronous").fetchone() == (level,)
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_bar_that_is_filled_twice_fills_once(tmp_path: Path) -> None:
    venue = PaperVenue(tmp_path)
    venue.broker.submit(seal_intent(wanted(1)))
    for _ in range(3):
        venue.now = AT
        venue.trade("SPY", "100")

    assert venue.broker.positions() == {"SPY": Decimal(10)}
    assert len(venue.broker.fills(AT)) == 1


def test_latency_delays_orders_and_messages(tmp_path: Path) -> None:
    venue = PaperVenue(tmp_path, PaperOptions(latency_s=5_400.0))
    venue.broker.submit(seal_intent(wanted(1)))
    assert venue.broker.drain_updates() == ()

    venue.trade("SPY", "100")  # an hour later: not there yet
    assert venue.broker.positions() == {}
    venue.trade("SPY", "101")
    assert venue.broker.positions() == {"SPY": Decimal(10)}
    assert [each.kind for each in venue.broker.drain_updates()] == [UpdateKind.ACCEPTED]
    venue.broker.pass_time(venue.now + timedelta(hours=2))
    assert [each.kind for each in venue.broker.drain_updates()] == [UpdateKind.FILLED]


def test_rest_of_an_order_lapses_with_the_bar_unless_it_is_good_till_cancelled(
    tmp_path: Path,
) -> None:
    venue = PaperVenue(tmp_path)
    first, second = wanted(1), wanted(2, time_in_force=TimeInForce.GOOD_TILL_CANCELLED)
    venue.broker.submit(seal_intent(first))
    venue.trade("SPY", "100", share="0.25")
    assert venue.broker.find_order(first.client_order_id).status is OrderStatus.EXPIRED  # type: ignore[union-attr]

    venue.broker.submit(seal_intent(second))
    venue.trade("SPY", "100", share="0.25")
    found = venue.broker.find_order(second.client_order_id)
    assert found is not None
    assert found.status is OrderStatus.PARTIALLY_FILLED
    assert (found.filled_units, found.average_price) == (Decimal("2.5"), 100)
    venue.trade("SPY", "100")
    assert venue.broker.positions() == {"SPY": Decimal("12.5")}


@pytest.mark.parametrize(
    ("side", "limit", "fills"),
    [
        ("buy", "99.99", False),
        ("buy", "100", True),
        ("sell", "100.01", False),
        ("sell", "100", True),
    ],
)
def test_limit_order_fills_at_its_limit_or_better(
    tmp_path: Path, side: str, limit: str, fills: bool
) -> None:
    venue = PaperVenue(tmp_path)
    make = wanted if side == "buy" else sale
    order = make(1, order_type=OrderType.LIMIT, limit_price=Decimal(limit))
    venue.broker.submit(seal_intent(order))
    venue.trade("SPY", "100")

    assert bool(venue.broker.positions()) is fills


def test_symbol_that_is_halted_is_refused(tmp_path: Path) -> None:
    venue = PaperVenue(tmp_path)
    venue.broker.list_asset(replace(ASSET, halted=True))
    report = venue.broker.submit(seal_intent(wanted(1)))

    assert report.outcome is SubmitOutcome.REJECTED
    assert venue.broker.assets(["SPY"])["SPY"].halted
    assert venue.broker.find_order(wanted(1).client_order_id) is None


def test_shorts_take_buying_power_and_positions_are_valued(tmp_path: Path) -> None:
    venue = PaperVenue(tmp_path)
    venue.broker.submit(seal_intent(sale(1)))
    venue.trade("SPY", "100")
    account = venue.broker.account()
    assert (account.cash_ccy, account.equity_ccy) == (101_000, 100_000)
    assert account.buying_power_ccy == 99_000

    later = PaperVenue(tmp_path).broker  # without a price it is valued as it was filled
    assert later.account() == account


def test_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "venue.db").write_bytes(b"not a database" * 100)
    with pytest.raises(StorageError, match="paper broker's file must be readable"):
        PaperVenue(tmp_path)
    rules = replace(VENUE_RULES, account=AccountRules())
    with pytest.raises(TradingError, match="quantity_decimals must be given"):
        PaperBroker(tmp_path / "other.db", rules, COST_PROFILES["free"])
    fresh = PaperBroker(tmp_path / "third.db", VENUE_RULES, COST_PROFILES["free"])
    with pytest.raises(TradingError, match="venue's time must be told"):
        fresh.clock()
