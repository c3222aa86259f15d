"""Forced exits at the next open, stops and take-profits within the bar."""

from __future__ import annotations

import pytest
import torch

from fixtures.plain_accounts import accounts, bars, costs, money
from tradingbot.domain.denial import ExitReason
from tradingbot.market import AccountRules, SimulatorParams
from tradingbot.market.account import Account
from tradingbot.market.actions.decision import Decision
from tradingbot.market.advance import Advanced, advance_order
from tradingbot.market.bars import Bar
from tradingbot.market.exits import forced_exit, stop_within_bar
from tradingbot.risk import RiskLimits

RULES = AccountRules(stop_loss_frac=0.05, take_profit_frac=0.10, max_holding_bars=20)
LONG = accounts(units=10.0, entry=100.0)
SHORT = accounts(cash=12_000.0, units=-10.0, entry=100.0)


def forced(**fields: float) -> ExitReason:
    return ExitReason(int(forced_exit(RULES, accounts(**fields))))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"units": 10.0, "entry": 100.0}, ExitReason.NONE),
        ({"units": 10.0, "entry": 100.0, "mark": 95.01}, ExitReason.NONE),
        ({"units": 10.0, "entry": 100.0, "mark": 95.0}, ExitReason.POSITION_LOSS),
        ({"units": -10.0, "entry": 100.0, "mark": 105.0}, ExitReason.POSITION_LOSS),
        ({"units": -10.0, "entry": 100.0, "mark": 95.0}, ExitReason.NONE),
        ({"units": 10.0, "entry": 100.0, "holding_bars": 19}, ExitReason.NONE),
        ({"units": 10.0, "entry": 100.0, "holding_bars": 20}, ExitReason.MAX_HOLDING),
        ({"units": -10.0, "entry": 100.0, "cash": 1_300.0}, ExitReason.NONE),
        ({"units": -10.0, "entry": 100.0, "cash": 1_299.0}, ExitReason.MARGIN_CALL),
        ({"units": 10.0, "entry": 100.0, "cash": 0.0}, ExitReason.NONE),
        ({"units": 10.0, "entry": 100.0, "halted": 1}, ExitReason.EMERGENCY),
        ({"halted": 1, "holding_bars": 99}, ExitReason.NONE),  # flat: nothing to close
    ],
)
def test_forced_exit_below_at_and_above_its_limit(
    fields: dict[str, float], reason: ExitReason
) -> None:
    assert forced(**fields) is reason


def test_forced_exits_that_coincide_keep_their_order() -> None:
    worst = {"units": -10.0, "entry": 50.0, "cash": 900.0, "holding_bars": 99.0}
    assert forced(**worst, halted=1) is ExitReason.EMERGENCY
    assert forced(**worst) is ExitReason.MARGIN_CALL
    assert forced(**(worst | {"cash": 9_000.0})) is ExitReason.POSITION_LOSS
    assert forced(**(worst | {"cash": 9_000.0, "entry": 100.0})) is ExitReason.MAX_HOLDING


@pytest.mark.parametrize(
    ("account", "bar", "reason", "base"),
    [
        (LONG, bars(100.0, 104.0, 96.0, 100.0), ExitReason.NONE, None),
        (LONG, bars(100.0, 104.0, 95.0, 100.0), ExitReason.STOP_LOSS, 95.0),
        (LONG, bars(90.0, 104.0, 89.0, 100.0), ExitReason.STOP_LOSS, 90.0),  # gap through
        (LONG, bars(100.0, 110.01, 99.0, 100.0), ExitReason.TAKE_PROFIT, 110.0),
        (LONG, bars(115.0, 116.0, 99.0, 100.0), ExitReason.TAKE_PROFIT, 115.0),  # gap through
        (LONG, bars(100.0, 111.0, 94.0, 100.0), ExitReason.STOP_LOSS, 95.0),  # both: the stop
        (SHORT, bars(100.0, 104.0, 91.0, 100.0), ExitReason.NONE, None),
        (SHORT, bars(100.0, 105.0, 96.0, 100.0), ExitReason.STOP_LOSS, 105.0),
        (SHORT, bars(107.0, 108.0, 96.0, 100.0), ExitReason.STOP_LOSS, 107.0),
        (SHORT, bars(100.0, 101.0, 90.0, 100.0), ExitReason.TAKE_PROFIT, 90.0),
        (SHORT, bars(85.0, 101.0, 84.0, 100.0), ExitReason.TAKE_PROFIT, 85.0),
        (SHORT, bars(100.0, 106.0, 84.0, 100.0), ExitReason.STOP_LOSS, 105.0),
        (accounts(), bars(100.0, 1e6, 1e-4, 100.0), ExitReason.NONE, None),
    ],
)
def test_stop_within_a_bar(
    account: Account, bar: Bar, reason: ExitReason, base: float | None
) -> None:
    found, price = stop_within_bar(RULES, account, bar)
    assert ExitReason(int(found)) is reason
    assert base is None or money(price) == [base]


def test_stops_that_are_switched_off_never_touch_a_long() -> None:
    found, price = stop_within_bar(AccountRules(), LONG, bars(100.0, 1e9, 1e-9, 100.0))
    assert int(found) == ExitReason.NONE
    assert torch.isfinite(price).all()


def held_through(account: Account, bar: Bar, order: float = 0.0) -> Advanced:
    """Advance with an order in units and costs of 10 bp commission, 10 bp slippage."""
    zero = torch.zeros(1, dtype=torch.int32)
    orders = torch.tensor([order], dtype=torch.float64)
    decision = Decision(orders, zero, zero, zero.bool(), account.smoothed, zero)
    rules = SimulatorParams(RULES, RiskLimits(1.0, allow_short=True))
    return advance_order(rules, costs(0.001, 0.001), account, bar, decision, largest=account.equity)


def test_stop_sells_the_position_with_costs() -> None:
    done = held_through(LONG, bars(100.0, 104.0, 94.0, 97.0))
    assert money(done.exit_fill.units) == [-10.0]
    assert money(done.exit_fill.price) == [94.905]  # 95 less 10 bp
    assert done.after.cash.item() == pytest.approx(10_948.10095)  # 949.05 less 0.94905
    assert done.exit_reason.item() == ExitReason.STOP_LOSS
    assert done.after.units.item() == 0.0


def test_stop_also_covers_what_was_bought_at_the_open() -> None:
    done = held_through(accounts(), bars(100.0, 104.0, 94.0, 97.0), order=20.0)
    assert money(done.fill.units) == [20.0]
    assert money(done.exit_fill.units) == [-20.0]
    assert money(done.exit_fill.base) == [95.095]  # 5 % below the entry at 100.10


def test_stop_gets_what_the_fill_left_of_the_volume() -> None:
    thin = bars(100.0, 104.0, 94.0, 97.0, volume=150.0)  # at most 15 units
    done = held_through(LONG, thin, order=9.0)
    assert money(done.fill.units) == [9.0]
    assert money(done.exit_fill.units) == [-6.0]
    assert money(done.after.units) == [13.0]


def test_stop_in_a_halt_waits() -> None:
    done = held_through(LONG, bars(90.0, 90.0, 90.0, 90.0, volume=0.0, tradable=0.0))
    assert done.exit_fill.units.item() == 0.0
    assert done.exit_reason.item() == ExitReason.NONE


def test_forced_exit_is_stronger_than_the_agent_and_the_gate() -> None:
    old = accounts(units=10.0, entry=100.0, holding_bars=20, stale_bars=5)
    done = held_through(old, bars(101.0), order=3.0)
    assert money(done.fill.units) == [-10.0]
    assert done.denial.item() == 0
    assert done.exit_reason.item() == ExitReason.MAX_HOLDING
