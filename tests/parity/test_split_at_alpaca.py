"""A split at the fake Alpaca, through the real client: the session ends with the venue's books."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fakes.alpaca import FakeAlpaca, FaultPlan, VenueOptions
from fixtures.alpaca_broker import CREDENTIALS, settings_of
from fixtures.fed_alpaca import FedVenue
from fixtures.replayed_sessions import FIRST, NAME, RULES, SYMBOLS, N, hours, join_session, market
from fixtures.split_sessions import SPLIT_SYMBOL, ex_date, raw_market, split_bar
from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.domain.events.session import AlertRaised
from tradingbot.domain.events.trading import StockSplitApplied
from tradingbot.market.costs import cost_profile
from tradingbot.market.params import ActionRules, SimulatorParams
from tradingbot.risk.limits import RiskLimits
from tradingbot.runtime.brokers.alpaca.announced_splits import AlpacaSplits
from tradingbot.runtime.brokers.alpaca.broker import AlpacaBroker
from tradingbot.runtime.session.bars import as_datetime
from tradingbot.runtime.session.loop import require_positions
from tradingbot.runtime.session.price_basis import PriceBasis
from tradingbot.runtime.session.terms import SessionTerms

LAST = split_bar() + 3
LONG = replace(
    RULES,
    account=replace(RULES.account, max_participation_frac=1.0, position_loss_frac=1.0),
    limits=RiskLimits(),
    action=ActionRules(space="target", smoothing_bars=1),
)
WHOLE = replace(LONG, account=replace(LONG.account, quantity_decimals=0))


def begin(
    fake: FakeAlpaca, folder: Path, broker: AlpacaBroker, rules: SimulatorParams, **ratio: int
) -> Any:
    """A session at the fake, up to the evening before the split."""
    inputs = raw_market(ratio["new"], ratio["old"])
    inputs = replace(inputs, bars={key: np.round(each, 4) for key, each in inputs.bars.items()})
    venue = FedVenue(fake)
    terms = SessionTerms(rules, cost_profile("free"), FIRST)
    opened = join_session(folder, broker, venue, inputs, terms, stop=LAST)
    first = hours().day_of(as_datetime(inputs.closed_at[0]))
    opened.session.basis = PriceBasis(AlpacaSplits(CREDENTIALS, settings_of(fake)), first)
    return opened.run(until=split_bar())


@pytest.mark.parametrize(
    ("new", "old", "orders", "rules"),
    [(4, 1, "adjust", LONG), (4, 1, "cancel", LONG), (1, 10, "adjust", WHOLE)],
)
def test_B27_split_at_alpaca_leaves_the_venues_books(
    tmp_path: Path, new: int, old: int, orders: str, rules: SimulatorParams
) -> None:
    cash = N * rules.account.initial_cash_ccy
    options = VenueOptions(symbols=SYMBOLS, fills="at_next_open", start_cash=Decimal(cash))
    is_whole = rules is WHOLE
    what = {"symbol": SPLIT_SYMBOL, "new": new, "old": old, "ex_date": str(ex_date())}
    with FakeAlpaca(options, FaultPlan(requests_per_minute=None)) as fake:
        fake.do(time=as_datetime(market().closed_at[FIRST - 1]).isoformat())
        with AlpacaBroker(CREDENTIALS, settings_of(fake), SYMBOLS) as broker:
            opened = begin(fake, tmp_path, broker, rules, new=new, old=old)
            session = opened.session
            before = session.desk.holdings.units(SPLIT_SYMBOL)
            equity = session.equity_ccy
            fake.do(announce=what)
            bar = next(iter(session.source.bars(split_bar() - 1)))
            with pytest.raises(BrokerUnavailableError, match="must have done a split"):
                session.take(bar, bar.closed_at)
            fake.do(split={**what, "orders": orders, "whole": is_whole})
            session.take(bar, bar.closed_at)
            (event,) = opened.journal.events(NAME, StockSplitApplied)
            opened.run(until=LAST)
            require_positions(session)
            paid = fake.venue.payments
            alerts = {each.code for each in opened.journal.events(NAME, AlertRaised)}
        opened.journal.close()

    assert before
    assert (event.numerator, event.denominator) == (new, old)
    assert bool(event.paid_units) == bool(paid) == (is_whole and before % old != 0)
    assert event.cash_ccy == sum((Decimal(each["net_amount"]) for each in paid), Decimal(0))
    assert session.equity_ccy == pytest.approx(equity, rel=0.02)
    assert "POSITION_DRIFT" not in alerts
    assert "OVERFILL" not in alerts


def test_B27_announcement_that_cannot_be_had_is_no_announcement_of_nothing() -> None:
    day = ex_date()
    with FakeAlpaca(VenueOptions(symbols=SYMBOLS), FaultPlan(requests_per_minute=None)) as fake:
        source = AlpacaSplits(CREDENTIALS, settings_of(fake))
        row = {"symbol": SPLIT_SYMBOL, "new": 3, "old": 2, "ex_date": str(day)}
        fake.do(announce=row)
        (found,) = source.due(SYMBOLS, day.replace(day=1), day)
        assert (found.symbol, found.numerator, found.denominator, found.ex_date) == (
            SPLIT_SYMBOL,
            3,
            2,
            day,
        )
        assert source.due(SYMBOLS[1:], day.replace(day=1), day) == ()
        assert source.due(SYMBOLS, day, day.replace(day=28)) == ()
        fake.do(faults={"next": [{"operation": "data", "fault": "502_html"}]})
        with pytest.raises(BrokerUnavailableError, match="must say which splits"):
            source.due(SYMBOLS, day.replace(day=1), day)
