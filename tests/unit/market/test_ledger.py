"""Bookkeeping of fills, to the cent."""

from __future__ import annotations

import pytest
import torch

from fixtures.plain_accounts import accounts, money
from tradingbot.market.account import Account
from tradingbot.market.ledger import FillBatch, apply_fill


def booked(account: Account, units: float, price: float, fee: float = 1.0) -> Account:
    """Book one fill; the largest position is 1,000."""
    numbers = (torch.tensor([x], dtype=account.cash.dtype) for x in (units, price, price, fee))
    return apply_fill(account, FillBatch(*numbers), torch.tensor([1_000.0]))


def test_opening_takes_cash_and_costs_its_fee() -> None:
    now = booked(accounts(), 5.0, 100.0)
    assert money(now.cash) == [9_499.0]
    assert (money(now.units), money(now.entry)) == ([5.0], [100.0])
    assert money(now.realised) == money(now.trade_pnl) == [-1.0]
    assert now.n_trades.item() == 0


@pytest.mark.parametrize(
    ("units", "size"), [(5.0, 1), (-5.0, 1), (5.01, 2), (8.3, 2), (8.4, 3), (-10.0, 3)]
)
def test_opening_is_classed_by_its_share_of_the_largest(units: float, size: int) -> None:
    assert booked(accounts(), units, 100.0).entry_class.item() == size


def test_adding_averages_the_entry() -> None:
    now = booked(booked(accounts(), 10.0, 100.0), 30.0, 104.0)
    assert (money(now.units), money(now.entry)) == ([40.0], [103.0])
    assert money(now.cash) == [10_000.0 - 1_000.0 - 3_120.0 - 2.0]
    assert (now.adds.item(), now.partial_exits.item(), now.n_trades.item()) == (1, 0, 0)


def test_adding_to_a_short_averages_the_entry() -> None:
    now = booked(booked(accounts(), -10.0, 100.0), -10.0, 90.0)
    assert (money(now.units), money(now.entry)) == ([-20.0], [95.0])
    assert money(now.cash) == [11_898.0]


def test_partial_exit_realises_its_share_and_keeps_the_entry() -> None:
    now = booked(booked(accounts(), 10.0, 100.0), -4.0, 110.0)
    assert (money(now.units), money(now.entry)) == ([6.0], [100.0])
    assert money(now.realised) == [38.0]  # 4 · 10 − 2 fees
    assert (now.partial_exits.item(), now.n_trades.item()) == (1, 0)
    assert money(now.cash) == [9_438.0]


def test_closing_ends_a_trade_that_won() -> None:
    held = booked(accounts(), 10.0, 100.0)._replace(holding_bars=torch.tensor([7]).int())
    now = booked(held, -10.0, 103.0)
    assert money(now.units) == money(now.entry) == money(now.trade_pnl) == [0.0]
    assert money(now.realised) == money(now.gross_profit) == [28.0]
    assert (now.n_trades.item(), now.n_wins.item(), now.holding_bars.item()) == (1, 1, 0)
    assert now.entry_class.item() == 0


def test_closing_a_short_at_a_higher_price_loses() -> None:
    now = booked(booked(accounts(), -10.0, 100.0), 10.0, 103.0)
    assert money(now.realised) == [-32.0]
    assert money(now.gross_loss) == [32.0]
    assert (now.n_trades.item(), now.n_wins.item()) == (1, 0)


def test_trade_that_only_earns_its_fees_is_not_won() -> None:
    now = booked(booked(accounts(), 10.0, 100.0, 1.25), -10.0, 100.25, 1.25)
    assert money(now.realised) == [0.0]
    assert now.n_wins.item() == 0


def test_turning_closes_at_the_price_and_opens_the_rest() -> None:
    now = booked(booked(accounts(), 10.0, 100.0), -16.0, 110.0)
    assert (money(now.units), money(now.entry)) == ([-6.0], [110.0])
    assert money(now.realised) == [98.0]
    assert money(now.trade_pnl) == [0.0]
    assert (now.n_trades.item(), now.n_wins.item(), now.adds.item()) == (1, 1, 0)
    assert now.entry_class.item() == 2  # 660 of 1,000


def test_fill_of_nothing_changes_nothing() -> None:
    held = booked(accounts(), 10.0, 100.0)
    nothing = FillBatch(*(torch.zeros(1, dtype=torch.float64) for _ in range(4)))
    for before, after in zip(held, apply_fill(held, nothing, torch.ones(1)), strict=True):
        assert torch.equal(before, after)


def test_costs_and_turnover_add_up_over_fills() -> None:
    fill = FillBatch(*(torch.tensor([x], dtype=torch.float64) for x in (-5.0, 99.0, 100.0, 0.5)))
    held = accounts(units=10.0, entry=90.0)
    now = apply_fill(apply_fill(held, fill, torch.ones(1)), fill, torch.ones(1))
    assert money(now.commission_paid) == [1.0]
    assert money(now.slippage_paid) == [10.0]
    assert money(now.turnover) == [990.0]


def test_tiny_float32_positions_are_closed_not_added_to() -> None:
    """The product of 1e-30 and 1e-30 is 0 in float32; the sign of a position is not."""
    row = torch.zeros(1, dtype=torch.int32)
    single = Account(
        *(x.float() if x.is_floating_point() else x for x in accounts(units=1e-30, entry=1.0))
    )
    now = booked(single, -5e-31, 2.0, fee=0.0)
    assert now.entry.item() == 1.0
    assert now.partial_exits.item() == 1
    assert torch.equal(now.n_trades, row)
    turned = booked(single, -3e-30, 2.0, fee=0.0)
    assert (turned.entry.item(), turned.n_trades.item()) == (2.0, 1)


def test_turning_begins_a_new_trade() -> None:
    old = accounts(cash=9_000.0, units=10.0, entry=100.0, holding_bars=7, adds=2, partial_exits=1)
    now = booked(old, -15.0, 101.0)
    assert (now.holding_bars.item(), now.adds.item(), now.partial_exits.item()) == (0, 0, 0)
