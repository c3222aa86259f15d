"""The close of a bar: borrow, returns, halts."""

from __future__ import annotations

import pytest
import torch

from fixtures.plain_accounts import accounts, bars, costs, money
from tradingbot.market import AccountRules
from tradingbot.market.account import Account
from tradingbot.market.bars import Bar
from tradingbot.market.marking import mark_to_close

RULES = AccountRules(initial_cash_ccy=10_000.0, portfolio_loss_frac=0.2)
BORROW = costs(borrow_frac_per_bar=0.001)


def marked(account: Account, bar: Bar) -> Account:
    return mark_to_close(RULES, BORROW, account, bar, account.equity)


def test_short_pays_borrow_on_its_value_at_the_close() -> None:
    now = marked(accounts(cash=12_000.0, units=-20.0, entry=100.0), bars(100.0, close=110.0))
    assert money(now.borrow_paid) == [2.2]
    assert money(now.cash) == [11_997.8]
    assert money(now.realised) == money(now.trade_pnl) == [-2.2]
    assert money(now.equity) == [11_997.8 - 2_200.0]


def test_long_pays_no_borrow() -> None:
    now = marked(accounts(units=20.0, entry=100.0), bars(close=110.0))
    assert money(now.borrow_paid) == [0.0]
    assert money(now.cash) == [10_000.0]


def test_returns_feed_sums_and_moments() -> None:
    now = marked(accounts(cash=0.0, units=100.0, entry=100.0), bars(close=98.0))
    assert money(now.return_sum) == [-0.02]
    assert now.return_squares.item() == pytest.approx(0.0004)
    assert now.downside_squares.item() == pytest.approx(0.0004)
    assert now.return_mean.item() == pytest.approx(-0.02 / 50)
    assert now.return_power.item() == pytest.approx(0.0004 / 50)


def test_gain_is_no_downside() -> None:
    now = marked(accounts(cash=0.0, units=100.0, entry=100.0), bars(close=103.0))
    assert (now.return_sum.item(), now.downside_squares.item()) == (pytest.approx(0.03), 0.0)
    assert money(now.peak) == [10_300.0]


def test_peak_stays_when_equity_falls() -> None:
    assert money(marked(accounts(units=1.0, entry=9.0), bars(close=9.0)).peak) == [10_009.0]
    assert money(marked(accounts(cash=9_000.0), bars()).peak) == [10_000.0]


@pytest.mark.parametrize(("cash", "halted"), [(8_000.01, 0), (8_000.0, 1), (7_999.0, 1)])
def test_account_is_halted_at_its_loss_limit(cash: float, halted: int) -> None:
    assert marked(accounts(cash=cash), bars()).halted.item() == halted


def test_halt_is_for_good() -> None:
    assert marked(accounts(cash=20_000.0, halted=1), bars()).halted.item() == 1


def test_ages_count_bars() -> None:
    held = accounts(units=[1.0, 0.0], entry=[9.0, 0.0], holding_bars=[4, 4], stale_bars=[2, 2])
    now = marked(held, bars(tradable=[1.0, 0.0]))
    assert now.holding_bars.tolist() == [5, 0]
    assert now.stale_bars.tolist() == [0, 3]
    assert now.row.tolist() == now.steps.tolist() == [1, 1]


def test_account_without_equity_has_a_return_of_nothing() -> None:
    now = marked(accounts(cash=[0.0, -10.0]), bars([100.0, 100.0]))
    assert torch.equal(now.return_sum, torch.zeros(2, dtype=torch.float64))
