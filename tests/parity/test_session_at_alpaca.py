"""The same bars through backtest and the real client at the fake Alpaca: the same orders."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from fakes.alpaca import FakeAlpaca, FaultPlan, VenueOptions
from fixtures.alpaca_broker import CREDENTIALS, settings_of
from fixtures.fed_alpaca import FedVenue
from fixtures.replayed_sessions import (
    FIRST,
    NAME,
    RULES,
    STOP,
    SYMBOLS,
    N,
    join_session,
    market,
    run_backtest,
)
from tradingbot.features.inputs import MarketInputs
from tradingbot.market.costs import cost_profile
from tradingbot.market.params import ActionRules
from tradingbot.risk.limits import RiskLimits
from tradingbot.runtime.brokers.alpaca.broker import AlpacaBroker
from tradingbot.runtime.session.bars import as_datetime
from tradingbot.runtime.session.terms import SessionTerms

LONG_ONLY = replace(
    RULES,
    account=replace(RULES.account, max_participation_frac=1.0),
    limits=RiskLimits(),
    action=ActionRules(space="target", smoothing_bars=1),
)


def cents() -> MarketInputs:
    """The market without gaps, in prices of whole cents, as a venue quotes them."""
    inputs = market()
    bars = {name: values.copy() for name, values in inputs.bars.items()}
    for values in bars.values():
        gaps = np.argwhere(~inputs.present)
        for row, column in gaps:
            values[row, column] = values[row - 1, column]
    rounded = {name: np.round(values, 2) for name, values in bars.items()}
    return replace(inputs, present=np.ones_like(inputs.present), bars=rounded)


@pytest.mark.parametrize("rates", [{}, {"504_after": 0.2, "drop_after": 0.2, "504_before": 0.1}])
def test_session_at_alpaca_sends_the_backtests_orders(
    tmp_path: Path, rates: dict[str, float]
) -> None:
    inputs, costs = cents(), cost_profile("free")
    record = run_backtest(inputs, LONG_ONLY, costs)
    cash = N * LONG_ONLY.account.initial_cash_ccy
    options = VenueOptions(symbols=SYMBOLS, fills="at_next_open", start_cash=Decimal(cash))
    with FakeAlpaca(options, FaultPlan(requests_per_minute=None)) as fake:
        fake.do(time=as_datetime(inputs.closed_at[FIRST - 1]).isoformat())
        with AlpacaBroker(CREDENTIALS, settings_of(fake), SYMBOLS) as broker:
            terms = SessionTerms(LONG_ONLY, costs, FIRST)
            opened = join_session(tmp_path, broker, FedVenue(fake), inputs, terms)
            if rates:
                fake.do(faults={"schedule": {"seed": 1, "rates": rates}})
            opened.run()
            fake.do(faults={"schedule": {"seed": 1, "rates": {}}})
            positions = {symbol: float(units) for symbol, units in broker.positions().items()}
            n_at_venue = len(fake.state()["orders"])
        orders = opened.journal.orders(NAME)
        opened.journal.close()
    account = opened.session.account
    assert account is not None

    filled = {
        (order.intent.symbol, order.intent.decided_at): float(order.filled_units)
        * order.intent.side.sign
        for order in orders
        if order.fills
    }
    wanted = {
        (symbol, as_datetime(inputs.closed_at[FIRST + step])): units
        for step in range(STOP - FIRST - 1)
        for lane, symbol in enumerate(SYMBOLS)
        if (units := record.column("fill_units")[step, lane])
    }
    assert len(wanted) > 5
    assert filled == wanted
    assert n_at_venue == len(wanted)
    np.testing.assert_array_equal(account.equity.numpy(), record.column("equity")[-1])
    held = dict(zip(SYMBOLS, account.units.tolist(), strict=True))
    assert positions == {symbol: units for symbol, units in held.items() if units}
