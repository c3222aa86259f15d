"""Summaries of an account, on numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from reference.scalar_simulator import open_account
from tradingbot.envs.single.info import summarise
from tradingbot.market.params import AccountRules, SimulatorParams

RULES = SimulatorParams(account=AccountRules(initial_cash_ccy=1000.0))


def test_summary_of_a_fresh_account_is_zero_everywhere() -> None:
    summary = summarise(RULES, open_account(1000.0, 0, 10.0))

    assert summary.pop("fill_at") == "next_open"
    assert set(summary.values()) == {0}


def test_summary_of_two_returns_is_what_the_hand_finds() -> None:
    # Returns +2 % and −1 %: mean 0.005, variance 0.015² = 0.000225, downside 0.0001 / 2.
    account = open_account(1000.0, 0, 10.0)._replace(
        cash=809.8,
        units=20.0,
        peak=1020.0,
        steps=2,
        return_sum=0.01,
        return_squares=0.0005,
        downside_squares=0.0001,
        n_trades=4,
        n_wins=3,
        gross_profit=30.0,
        gross_loss=12.0,
        commission_paid=1.0,
        slippage_paid=2.0,
        borrow_paid=0.5,
        turnover=400.0,
        violations=2,
        denials=1,
    )

    summary = summarise(RULES, account)

    assert summary["return_frac"] == pytest.approx(0.0098)
    assert summary["drawdown_frac"] == pytest.approx(1 - 1009.8 / 1020)
    assert summary["sharpe"] == pytest.approx(0.005 / 0.015)
    assert summary["sortino"] == pytest.approx(0.005 / math.sqrt(0.00005))
    assert summary["win_rate_frac"] == 0.75
    assert summary["profit_factor"] == 2.5
    assert (summary["violations"], summary["denials"]) == (2, 1)


def test_profit_factor_without_a_loss_is_infinite() -> None:
    account = open_account(1000.0, 0, 10.0)._replace(gross_profit=5.0)

    assert summarise(RULES, account)["profit_factor"] == math.inf
