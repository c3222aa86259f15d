"""Hand-computed bars of one account; amounts to the cent and beyond."""

from __future__ import annotations

import math

import pytest

from reference.scalar_simulator import ScalarAccount, ScalarBar, open_account, scalar_advance
from tradingbot.domain.action import Action
from tradingbot.domain.denial import Denial, ExitReason
from tradingbot.market import AccountRules, ActionRules, EpisodeRules, SimulatorParams
from tradingbot.market.costs import CostProfile
from tradingbot.risk import RiskLimits

FREE = CostProfile(0.0, 0.0)
NO_STOPS = AccountRules(10_000.0, position_loss_frac=1.0, portfolio_loss_frac=1.0)
WHOLE = RiskLimits(max_position_frac=1.0, max_order_frac=3.0, allow_short=True)
TARGET = ActionRules("target", smoothing_bars=1)
RULES = SimulatorParams(NO_STOPS, WHOLE, TARGET)
LONG_50 = ScalarAccount(cash=5_000.0, units=50.0, entry=100.0, mark=100.0, peak=10_000.0)
SHORT_100 = ScalarAccount(cash=18_000.0, units=-100.0, entry=80.0, mark=140.0, peak=10_000.0)


def bar_of(open_: float, high: float, low: float, close: float, volume: float = 1e9) -> ScalarBar:
    return ScalarBar(open_, high, low, close, volume, 0.0, 1.0)


def flat_bar(price: float) -> ScalarBar:
    return bar_of(price, price, price, price)


def cents(*amounts: float) -> object:
    return pytest.approx(amounts, abs=1e-9)


def test_long_round_trip_pays_commission_and_slippage() -> None:
    costs = CostProfile(0.001, 0.002)
    bought = scalar_advance(
        RULES, costs, open_account(10_000.0, 7, 100.0), bar_of(101, 104, 100, 103), 0.5
    )

    # 50 units wanted at 100; filled at 101 · 1.002 = 101.202.
    assert bought.decision.code == Action.BUY_SMALL
    assert bought.fill == cents(50.0, 101.202, 101.0, 5.0601)
    after = bought.after
    assert (after.cash, after.entry, after.equity) == cents(4_934.8399, 101.202, 10_084.8399)
    assert (after.slippage_paid, after.turnover) == cents(10.10, 5_060.10)
    assert after.return_sum == pytest.approx(0.00848399, abs=1e-12)
    assert (after.row, after.steps, after.holding_bars, after.entry_class) == (8, 1, 1, 2)

    sold = scalar_advance(RULES, costs, after, flat_bar(104.0), 0.0)

    # 104 · 0.998 = 103.792; 50 · (103.792 − 101.202) − 5.0601 − 5.1896.
    assert sold.decision.code == Action.SELL_ALL
    assert (sold.after.cash, sold.after.realised) == cents(10_119.2503, 119.2503)
    assert sold.after.gross_profit == pytest.approx(119.2503, abs=1e-9)
    assert (sold.after.units, sold.after.entry, sold.after.n_trades, sold.after.n_wins) == (
        0.0,
        0.0,
        1,
        1,
    )


def test_short_pays_borrow_and_turns_to_long_in_one_order() -> None:
    costs = CostProfile(0.0, 0.0, borrow_frac_per_bar=0.0001)
    short = scalar_advance(
        RULES, costs, open_account(10_000.0, 0, 100.0), bar_of(100, 110, 100, 110), -1.0
    ).after
    turned = scalar_advance(RULES, costs, short, flat_bar(110.0), 1.0).after

    assert (short.units, short.cash, short.equity) == cents(-100.0, 19_998.90, 8_998.90)
    assert turned.units == pytest.approx(8_998.90 / 110.0, rel=1e-12)
    assert (turned.realised, turned.gross_loss, turned.trade_pnl) == cents(-1001.10, 1001.10, 0.0)
    assert (turned.n_trades, turned.n_wins, turned.entry, turned.entry_class) == (1, 0, 110.0, 3)
    assert 0.0 <= turned.cash < 1e-9


def test_adding_averages_the_entry_and_partial_exit_keeps_it() -> None:
    mark = LONG_50._replace(mark=110.0)  # equity 10,500; 1.0 wants 95.4545… units
    added = scalar_advance(RULES, FREE, mark, flat_bar(110.0), 1.0).after
    # The position is then worth all of the equity: half of it is sold.
    reduced = scalar_advance(RULES, FREE, added, flat_bar(110.0), 0.5).after

    assert added.units == pytest.approx(10_500.0 / 110.0, rel=1e-12)
    assert added.entry == pytest.approx((5_000.0 + 5_000.0) / (10_500.0 / 110.0), rel=1e-12)
    assert (added.adds, added.partial_exits) == (1, 0)
    assert (reduced.adds, reduced.partial_exits, reduced.n_trades) == (1, 1, 0)
    assert reduced.entry == added.entry
    assert (reduced.cash, reduced.realised) == cents(5_250.0, 250.0)


@pytest.mark.parametrize(
    ("bar", "reason", "cash"),
    [
        (bar_of(98, 99, 94, 96), ExitReason.STOP_LOSS, 9_750.0),  # at the stop, 95
        (bar_of(90, 99, 89, 96), ExitReason.STOP_LOSS, 9_500.0),  # a gap below it, 90
        (bar_of(98, 120, 94, 96), ExitReason.STOP_LOSS, 9_750.0),  # both: the stop
        (bar_of(105, 111, 104, 108), ExitReason.TAKE_PROFIT, 10_500.0),  # at the target, 110
        (bar_of(115, 116, 104, 108), ExitReason.TAKE_PROFIT, 10_750.0),  # a gap above it, 115
        (bar_of(98, 109, 96, 108), ExitReason.NONE, 5_000.0),
    ],
)
def test_stop_within_the_bar_leaves_at_the_worse_of_stop_and_open(
    bar: ScalarBar, reason: ExitReason, cash: float
) -> None:
    account = AccountRules(10_000.0, stop_loss_frac=0.05, take_profit_frac=0.1)
    step = scalar_advance(SimulatorParams(account, WHOLE, TARGET), FREE, LONG_50, bar, math.nan)

    assert step.exit_reason == reason
    assert step.after.cash == pytest.approx(cash, abs=1e-9)
    assert (step.after.units == 0.0) == (reason != ExitReason.NONE)
    assert step.after.violations == 1


def test_margin_call_covers_whatever_the_agent_wants() -> None:
    # 18,000 of cash against 1.3 · 14,000 = 18,200.
    covered = scalar_advance(RULES, FREE, SHORT_100, flat_bar(150.0), -1.0)

    assert (covered.exit_reason, covered.denial) == (ExitReason.MARGIN_CALL, Denial.NONE)
    assert (covered.after.cash, covered.after.units, covered.after.realised) == (
        3_000.0,
        0.0,
        -7_000.0,
    )
    assert not covered.terminated


def test_short_that_outruns_its_cash_leaves_a_debt_and_ends() -> None:
    ruined = scalar_advance(RULES, FREE, SHORT_100, flat_bar(200.0), -1.0)

    assert (ruined.after.cash, ruined.after.units) == (-2_000.0, 0.0)
    assert (ruined.terminated, ruined.truncated) == (True, False)


def test_loss_of_the_portfolio_stops_trading_for_good() -> None:
    account = AccountRules(10_000.0, position_loss_frac=1.0, portfolio_loss_frac=0.2)
    rules = SimulatorParams(account, WHOLE, TARGET)
    halted = scalar_advance(rules, FREE, LONG_50, flat_bar(60.0), 0.5)
    # 5,000 + 50 · 60 = 8,000 is the limit; the position goes at the next open.
    sold = scalar_advance(rules, FREE, halted.after, flat_bar(200.0), 1.0)

    assert (halted.after.halted, halted.terminated) == (1, False)
    assert (sold.exit_reason, sold.order) == (ExitReason.EMERGENCY, -halted.after.units)
    assert (sold.after.units, sold.terminated) == (0.0, True)

    denied = scalar_advance(rules, FREE, sold.after, flat_bar(200.0), 1.0)
    assert (denied.denial, denied.order, denied.after.denials) == (Denial.TRADING_HALTED, 0.0, 1)


@pytest.mark.parametrize(
    ("account", "reason"),
    [
        (LONG_50._replace(mark=95.0), ExitReason.POSITION_LOSS),
        (LONG_50._replace(mark=95.1), ExitReason.NONE),
        (LONG_50._replace(mark=95.0, holding_bars=8), ExitReason.POSITION_LOSS),
        (LONG_50._replace(holding_bars=8), ExitReason.MAX_HOLDING),
        (LONG_50._replace(holding_bars=7), ExitReason.NONE),
        (LONG_50._replace(mark=95.0, holding_bars=8, halted=1), ExitReason.EMERGENCY),
    ],
)
def test_forced_exits_have_an_order_of_precedence(
    account: ScalarAccount, reason: ExitReason
) -> None:
    limits = AccountRules(10_000.0, max_holding_bars=8, position_loss_frac=0.05)
    step = scalar_advance(
        SimulatorParams(limits, WHOLE, TARGET), FREE, account, flat_bar(95.0), math.inf
    )

    assert step.exit_reason == reason


def test_fill_is_cut_to_volume_and_moved_by_impact() -> None:
    costs = CostProfile(0.0, 0.0, spread_frac=0.002, impact_coef=1.0)
    bar = ScalarBar(100.0, 100.0, 100.0, 100.0, 400.0, 0.04, 1.0)
    account = AccountRules(10_000.0, max_participation_frac=0.01, position_loss_frac=1.0)
    step = scalar_advance(
        SimulatorParams(account, WHOLE, TARGET), costs, open_account(10_000.0, 0, 100.0), bar, 1.0
    )

    # 1 % of 400 units; spread 0.1 %, impact 0.04 · √(4 / 400) = 0.4 %.
    assert step.fill == cents(4.0, 100.5, 100.0, 0.0)
    assert step.order == pytest.approx(10_000.0 / 1.001 / 100.0)


@pytest.mark.parametrize("bar", [flat_bar(101.0)._replace(volume=0.0, tradable=0.0),
                                 flat_bar(101.0)._replace(volume=0.0)])  # fmt: skip
def test_order_lapses_where_nothing_trades(bar: ScalarBar) -> None:
    step = scalar_advance(RULES, FREE, LONG_50, bar, 0.0)

    assert (step.order, step.fill.units, step.after.units) == (-50.0, 0.0, 50.0)
    assert step.after.stale_bars == (0 if bar.tradable else 1)


def test_buy_after_a_gap_spends_no_more_than_the_cash() -> None:
    costs = CostProfile(0.01, 0.0)
    step = scalar_advance(RULES, costs, open_account(10_000.0, 0, 100.0), flat_bar(150.0), 1.0)

    assert step.fill.units == pytest.approx(10_000.0 / 1.01 / 150.0, rel=1e-12)
    assert 0.0 <= step.after.cash < 1e-9


def test_this_close_fills_at_the_price_that_was_seen() -> None:
    rules = SimulatorParams(NO_STOPS, WHOLE, TARGET, EpisodeRules(fill_at="this_close"))
    step = scalar_advance(rules, FREE, open_account(10_000.0, 0, 100.0), flat_bar(120.0), 1.0)

    assert (step.fill.price, step.after.equity) == cents(100.0, 12_000.0)


def test_episode_is_truncated_when_its_bars_are_used_up() -> None:
    rules = SimulatorParams(NO_STOPS, WHOLE, TARGET, EpisodeRules(episode_bars=2))
    first = scalar_advance(rules, FREE, open_account(10_000.0, 0, 100.0), flat_bar(100.0), 0.0)
    second = scalar_advance(rules, FREE, first.after, flat_bar(100.0), 0.0)

    assert (first.truncated, second.truncated, second.terminated) == (False, True, False)
