"""The arithmetic of a portfolio's bar: exact sums, net orders, the gate, what cannot move."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tradingbot.domain.denial import Denial
from tradingbot.market.costs import CostProfile
from tradingbot.market.params import AccountRules, SimulatorParams
from tradingbot.market.portfolio.accounting import LOWEST_FACTOR, Rebalanced, rebalance
from tradingbot.market.portfolio.net_orders import PortfolioHoldings, SleeveBars, attainable
from tradingbot.risk.limits import RiskLimits

VALUE = torch.tensor([1e5], dtype=torch.float64)
FREE, USUAL = CostProfile(0.0, 0.0), CostProfile(0.001, 0.01)


def row(*numbers: float) -> torch.Tensor:
    return torch.tensor([numbers], dtype=torch.float64)


def bars(gap, within, target, market=None, stale=None) -> SleeveBars:
    n = len(gap)
    open_ = [1.0] * n if market is None else market
    aged = [0.0] * n if stale is None else stale
    parts = (gap, within, target, open_, aged, [1e12] * n, [0.0] * n)
    return SleeveBars(*(row(*part) for part in parts))


def params(**limits: object) -> SimulatorParams:
    usual = {"max_position_frac": 1.0, "min_trade_ccy": 0.0} | limits
    return SimulatorParams(
        account=AccountRules(max_participation_frac=1.0), limits=RiskLimits(**usual)
    )


def carry(before, wanted, bar, costs=FREE, rules=None) -> Rebalanced:
    rates = costs.rates(dtype=torch.float64)
    return rebalance(rules or params(), rates, PortfolioHoldings(*before), wanted, bar, VALUE)


def test_capital_that_joins_fills_at_the_open_and_does_not_earn_the_gap():
    made = carry((row(0, 1), row(0)), row(1, 0), bars([0.5], [0.2], [0.4]))

    # 0.4 is bought at the open, 0.6 of capital by then, which earns a fifth within the bar.
    assert made.gross.item() == pytest.approx(1.0 + 0.4 * 1.5 * 0.2)
    assert made.after.capital.tolist()[0] == pytest.approx([1.0, 0.0])
    assert made.after.held.item() == pytest.approx(0.6 * 1.2 / 1.12)


def test_cost_is_charged_once_on_the_net_order():
    """Capital leaves while the agent buys: what is left to trade is the difference."""
    before = (row(0.5, 0.5), row(0.25))
    none = carry(before, row(0.25, 0.75), bars([0.0], [0.0], [1.0]), USUAL)
    part = carry(before, row(0.25, 0.75), bars([0.0], [0.0], [0.6]), USUAL)

    assert (none.order.item(), none.cost.item(), none.turnover.item()) == (0.0, 0.0, 0.0)
    assert part.order.item() == pytest.approx(-0.1)
    assert part.cost.item() == pytest.approx(0.1 * (0.01 + 0.001 * 0.99))
    assert part.total.item() == pytest.approx(1.0 - part.cost.item())


def test_sales_pay_for_buys_less_what_both_cost():
    made = carry((row(1, 0, 0), row(1, 0)), row(0, 1, 0), bars([0, 0], [0, 0], [1, 1]), USUAL)

    proceeds = 0.99 * (1.0 - 0.001)
    bought = proceeds / (1.01 * (1.0 + 0.001))
    assert made.order.tolist()[0] == pytest.approx([-1.0, bought], rel=1e-12)
    assert made.after.held.sum().item() == pytest.approx(1.0, rel=1e-12)  # no cash, no debt


def test_costs_take_from_all_capital_in_proportion():
    made = carry(
        (row(0, 0, 1), row(0, 0)), row(0.5, 0.25, 0.25), bars([0, 0], [0, 0], [1, 1]), USUAL
    )

    assert made.total.item() < 1.0
    assert made.after.capital.tolist()[0] == pytest.approx([0.5, 0.25, 0.25])


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 6),
    short=st.booleans(),
)
def test_portfolio_is_the_sum_of_its_sleeves_and_cash(seed, n, short):
    draws = torch.Generator().manual_seed(seed)

    def rand(*shape):
        return torch.rand(*shape, generator=draws, dtype=torch.float64)

    low = -1.0 if short else 0.0
    parts = (0.2 * rand(4, n) - 0.1, 0.2 * rand(4, n) - 0.1, low + (1.0 - low) * rand(4, n))
    market = (rand(4, n) > 0.2).double()
    bar = SleeveBars(*parts, market, torch.zeros(4, n).double(), 1e12 * rand(4, n), rand(4, n))
    capital = rand(4, n + 1).softmax(-1)
    held = capital[:, :-1] * (low + (1.0 - low) * rand(4, n))
    rates = CostProfile(0.001, 0.002, 0.001, 0.5, 1e-4).rates(dtype=torch.float64)
    value = 1e5 * (0.5 + rand(4))
    rules = params(allow_short=short)
    made = rebalance(
        rules, rates, PortfolioHoldings(capital, held), rand(4, n + 1).softmax(-1), bar, value
    )

    earned = held * bar.gap_frac + (held + made.order) * (1 + bar.gap_frac) * bar.within_frac
    assert torch.allclose(made.gross, 1.0 + earned.sum(-1), rtol=0, atol=1e-14)
    assert torch.allclose(made.after.capital.sum(-1), torch.ones(4).double(), rtol=0, atol=1e-13)
    position = (held + made.order) * (1 + bar.gap_frac) * (1 + bar.within_frac)
    assert torch.allclose(made.after.held * made.total[:, None], position, rtol=0, atol=1e-14)
    if not short:
        assert (made.after.held.sum(-1) <= 1.0 + 1e-12).all()  # nothing is bought on credit
    assert (made.order[bar.has_market == 0.0] == 0.0).all()


def test_what_has_no_market_keeps_position_and_capital():
    made = carry(
        (row(0.5, 0.2, 0.3), row(0.5, 0.0)),
        row(0.0, 1.0, 0.0),
        bars([0.0, 0.0], [0.0, 0.0], [1.0, 1.0], market=[0.0, 1.0]),
    )
    assert made.after.capital.tolist()[0] == pytest.approx([0.5, 0.5, 0.0])
    assert made.after.held.tolist()[0] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(
    ("wanted", "movable", "expected"),
    [
        ([0.5, 0.5, 0.0], [True, True], [0.5, 0.5, 0.0]),
        ([0.0, 1.0, 0.0], [False, True], [0.3, 0.7, 0.0]),
        ([0.6, 0.2, 0.2], [False, True], [0.3, 0.2, 0.5]),
        ([0.0, 0.4, 0.6], [False, True], [0.3, 0.4, 0.3]),
        ([0.0, 0.0, 1.0], [False, False], [0.3, 0.3, 0.4]),
    ],
)
def test_attainable_moves_only_what_can(wanted, movable, expected):
    made = attainable(row(0.3, 0.3, 0.4), row(*wanted), torch.tensor([movable]))
    assert made.tolist()[0] == pytest.approx(expected)


@pytest.mark.parametrize(("held", "target", "filled"), [(0.0, 1.0, 0.02), (1.0, 0.0, -0.02)])
def test_order_fills_no_more_than_its_share_of_what_trades(held, target, filled):
    """A tenth of 25,000 at an open 25 % higher is 2 % of the 100,000 of the portfolio."""
    rules = replace(params(), account=AccountRules(max_participation_frac=0.1))
    bar = bars([0.25], [0.0], [target])._replace(depth_ccy=row(25_000.0))
    made = carry((row(1, 0), row(held)), row(1, 0), bar, rules=rules)

    assert made.order.item() == pytest.approx(filled)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_E05_agents_that_want_the_same_volume_share_it_whatever_their_order(order):
    """Each sleeve wants ten times what its symbol trades; volume is shared by one net order."""
    rules = replace(params(), account=AccountRules(max_participation_frac=0.1))
    depth = torch.tensor([20_000.0, 30_000.0, 50_000.0])
    want = torch.tensor([0.5, 0.3, 0.2])
    bar = bars([0.0] * 3, [0.01, -0.02, 0.03], [1.0] * 3)
    bar = SleeveBars(*(part[:, order] for part in bar))
    bar = bar._replace(depth_ccy=row(*depth[order]))
    wanted = row(*want[order], 0.0)
    made = carry((row(0, 0, 0, 1), row(0, 0, 0)), wanted, bar, rules=rules)

    filled = made.order[0] * VALUE
    assert (filled <= 0.1 * depth[order] + 1e-9).all()  # no more than a tenth of what trades
    assert filled.tolist() == pytest.approx((0.1 * depth[order]).tolist())  # and all of that
    # With its own volume alone, a sleeve gets no more than it gets beside the others.
    alone = carry(
        (row(0, 0, 0, 1), row(0, 0, 0)),
        row(*(want[order] * torch.tensor([1.0, 0.0, 0.0])), 1.0 - float(want[order][0])),
        bar,
        rules=rules,
    )
    assert alone.order[0, 0].item() == pytest.approx(made.order[0, 0].item())


def test_debt_within_the_bar_is_charged_to_cash():
    made = carry(
        (row(0.1, 0.5, 0.4), row(-0.5, 0.0)),
        row(0.1, 0.5, 0.4),
        bars([0.0, 0.0], [1.0, 0.0], [-5.0, 0.0]),
        rules=params(allow_short=True, margin_frac=1.5),
    )
    assert made.gross.item() == pytest.approx(0.5)
    assert made.after.capital.tolist()[0] == pytest.approx([0.0, 1.0, 0.0])


def test_ruin_is_all_cash_and_rewarded_as_a_millionth():
    short = params(allow_short=True)
    made = carry(
        (row(1.0, 0.0), row(-1.0)),
        row(1.0, 0.0),
        bars([2.0], [0.0], [-1.0], market=[0.0]),
        rules=short,
    )
    assert made.total.item() == pytest.approx(-1.0)
    assert made.after.capital.tolist() == [[0.0, 1.0]]
    assert made.after.held.tolist() == [[0.0]]
    assert made.reward_terms.sum().item() == pytest.approx(math.log(LOWEST_FACTOR))


@pytest.mark.parametrize(
    ("limits", "stale", "code"),
    [
        ({"max_position_frac": 0.3}, 0.0, Denial.MAX_POSITION),
        ({"max_order_frac": 0.2}, 0.0, Denial.MAX_ORDER_VALUE),
        ({"min_trade_ccy": 60_000.0}, 0.0, Denial.MIN_TRADE_VALUE),
        ({}, 3.0, Denial.STALE_DATA),
    ],
)
def test_net_orders_pass_the_gate_of_every_order(limits, stale, code):
    made = carry(
        (row(0, 1), row(0)),
        row(0.5, 0.5),
        bars([0.0], [0.1], [1.0], stale=[stale]),
        rules=params(**limits),
    )
    assert made.denial.item() == int(code)
    assert (made.order.item(), made.gross.item()) == (0.0, 1.0)


def test_reserve_is_left_in_cash_by_all_buys_together():
    made = carry(
        (row(0, 0, 1), row(0, 0)),
        row(0.5, 0.5, 0.0),
        bars([0, 0], [0, 0], [1, 1]),
        rules=params(reserve_frac=0.2),
    )
    assert made.order.tolist()[0] == pytest.approx([0.4, 0.4])


def test_gradient_of_growth_is_what_a_sleeve_earns():
    wanted = row(0.5, 0.2, 0.3).requires_grad_()
    bar = bars([0.0, 0.0], [0.02, -0.01], [1.0, 0.5])
    made = carry((row(0.5, 0.2, 0.3), row(0.5, 0.1)), wanted, bar)
    (gradient,) = torch.autograd.grad(made.total.sum(), wanted)

    assert gradient[0, :2].tolist() == pytest.approx([0.02, -0.005])
