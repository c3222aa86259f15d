"""Positions in symbols that have no bars any more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures.plain_accounts import accounts, bars
from fixtures.trading_worlds import delisted, small_world
from tradingbot.agents.baselines.market_rules import buy_and_hold, table_of
from tradingbot.data.splits import IndexRange
from tradingbot.domain.denial import ExitReason
from tradingbot.evaluation.backtest import Backtest, backtest, sleeve_config
from tradingbot.market import AccountRules
from tradingbot.market.costs import COST_PROFILES
from tradingbot.market.exits import close_delisted

FIRST, LAST_BAR, LAST = 200, 300, 400
WAIT, HAIRCUT, GONE = 5, 0.3, 1


def played(side: float = 1.0, **rules: float) -> Backtest:
    config = sleeve_config(COST_PROFILES["free"], max_participation_frac=1.0, allow_short=True)
    account = replace(config.rules.account, **rules)
    config = replace(config, rules=replace(config.rules, account=account))
    world = delisted(small_world(), GONE, LAST_BAR)
    policy = buy_and_hold
    if side < 0.0:
        policy = table_of(np.full((world.n_symbols, world.n_bars), side / 2))
    span = {"bars": IndexRange(FIRST, LAST + 1), "bars_per_year": 1_764.0}
    return backtest(world, config, policy, name="it", **span)  # type: ignore[arg-type]


def test_D21_position_in_a_delisted_symbol_is_closed_at_its_last_price_less_a_haircut() -> None:
    closed = played(delisted_after_bars=WAIT, delisting_haircut_frac=HAIRCUT)
    kept = played()
    last = small_world().prices[GONE, LAST_BAR, 3]
    ends = LAST_BAR + WAIT - FIRST  # the bar, from 1, at whose close it is gone

    trade = closed.trades.select(closed.trades.symbol == GONE)
    assert trade.reason.tolist() == [int(ExitReason.DELISTED)]
    assert trade.exit_price == pytest.approx([last * (1.0 - HAIRCUT)])
    assert trade.exited_at.tolist() == [closed.closed_at[ends]]
    assert not trade.is_open.any()
    np.testing.assert_array_equal(closed.equity[:ends], kept.equity[:ends])  # not known yet
    held = kept.trades.select(kept.trades.symbol == GONE)
    assert held.is_open.all()
    lost = trade.units[0] * last * HAIRCUT / closed.initial_cash_ccy
    assert kept.equity[ends, GONE] - closed.equity[ends, GONE] == pytest.approx(lost)
    assert np.ptp(closed.equity[ends:, GONE]) == 0.0  # flat, and nothing can be bought
    others = [0, 2]
    np.testing.assert_array_equal(closed.equity[:, others], kept.equity[:, others])
    assert closed.symbols == small_world().symbols


def test_D21_short_pays_the_haircut_too() -> None:
    closed = played(-1.0, delisted_after_bars=WAIT, delisting_haircut_frac=HAIRCUT)

    last = small_world().prices[GONE, LAST_BAR, 3]
    trade = closed.trades.select((closed.trades.symbol == GONE) & ~closed.trades.is_open)
    assert trade.reason[-1] == int(ExitReason.DELISTED)
    fills = closed.equity[LAST_BAR + WAIT - FIRST, GONE] - closed.equity[LAST_BAR - FIRST, GONE]
    assert fills < 0.0
    short = played(-1.0)
    units = -short.position_frac[-1, GONE] * short.equity[-1, GONE] / last
    assert -fills == pytest.approx(units * last * HAIRCUT)


@pytest.mark.parametrize(
    ("stale_bars", "tradable", "units", "closes"),
    [
        (WAIT - 2, 0.0, 10.0, False),
        (WAIT - 1, 0.0, 10.0, True),
        (WAIT + 9, 0.0, -10.0, True),
        (WAIT - 1, 1.0, 10.0, False),  # it is back
        (WAIT - 1, 0.0, 0.0, False),
    ],
)
def test_D21_symbol_counts_as_delisted_at_its_limit_and_not_before(
    stale_bars: int, tradable: float, units: float, *, closes: bool
) -> None:
    rules = AccountRules(delisted_after_bars=WAIT)
    account = accounts(units=units, entry=100.0, stale_bars=stale_bars)
    gone = close_delisted(rules, account, bars(100.0, volume=0.0, tradable=tradable))

    assert gone.units.tolist() == [-units if closes else 0.0]
    side = np.sign(units)
    assert gone.price.tolist() == [pytest.approx(100.0 * (1.0 - side * 0.3)) if closes else 0.0]
    assert gone.fee.tolist() == [0.0]


def test_D21_rule_is_off_unless_it_is_set() -> None:
    assert not AccountRules().closes_delisted
    assert AccountRules(delisted_after_bars=WAIT).closes_delisted
