"""The private observation: 18 numbers with bounds that hold."""

from __future__ import annotations

import pytest
import torch

from fixtures.plain_accounts import accounts
from tradingbot.market import AccountRules, ActionRules, SimulatorParams
from tradingbot.market.account import Account
from tradingbot.market.observation import observe_accounts
from tradingbot.market.private_features import PRIVATE_FEATURES
from tradingbot.risk import RiskLimits

RULES = SimulatorParams(
    AccountRules(10_000.0, stop_loss_frac=0.05, take_profit_frac=0.1), RiskLimits(0.2)
)


def observed(account: Account, rules: SimulatorParams = RULES) -> dict[str, float]:
    numbers = observe_accounts(rules, account)[:, 0].tolist()
    return {f.name: x for f, x in zip(PRIVATE_FEATURES, numbers, strict=True)}


def test_observation_of_an_account_just_opened_is_plain() -> None:
    view = observed(accounts())
    assert {name: x for name, x in view.items() if x != 0.0} == {
        "stop_distance": 1.0,
        "target_distance": 1.0,
        "cash": 1.0,
    }


def test_observation_of_a_long_by_hand() -> None:
    view = observed(
        accounts(
            cash=9_000.0,
            units=10.0,
            entry=100.0,
            mark=102.0,
            peak=10_200.0,
            realised=-30.0,
            holding_bars=8,
            adds=1,
            steps=10,
            n_trades=4,
            n_wins=3,
            repeats=1,
            stale_bars=3,
            smoothed=0.4,
            return_sum=0.01,
            return_squares=0.0002,
            downside_squares=0.00005,
        )
    )
    equity = 9_000.0 + 1_020.0
    expected = {
        "size": 1_020.0 / (0.2 * equity),
        "entry_move": 0.02,
        "unrealised": 20.0 / 10_000.0,
        "holding": 8.0 / 32.0,
        "stop_distance": 7.0 / 102.0,
        "target_distance": 8.0 / 102.0,
        "adds": 0.5,
        "last_action": 0.4,
        "total_return": 0.002,
        "cash": 9_000.0 / equity,
        "exposure": 1_020.0 / equity,
        "drawdown": 1.0 - equity / 10_200.0,
        "realised": -0.003,
        "sharpe": 0.001 / (0.00002 - 0.001**2) ** 0.5,
        "sortino": 0.001 / 0.000005**0.5,
        "win_rate": 0.75,
        "repeats": 0.5,
        "stale": 0.75,
    }
    assert view == pytest.approx(expected)


def test_observation_of_a_short_is_mirrored() -> None:
    view = observed(accounts(cash=11_000.0, units=-10.0, entry=100.0, mark=98.0))
    assert view["size"] < 0.0
    assert view["entry_move"] == pytest.approx(0.02)
    assert view["stop_distance"] == pytest.approx(7.0 / 98.0)
    assert view["target_distance"] == pytest.approx(8.0 / 98.0)


def test_observation_of_discrete_actions_shows_the_code() -> None:
    rules = SimulatorParams(action=ActionRules(space="discrete"))
    assert observed(accounts(last_action=3, smoothed=0.9), rules)["last_action"] == 0.5


def test_observation_of_ruined_accounts_keeps_its_bounds() -> None:
    ruined = accounts(
        cash=[-9e5, 0.0, 1e12, 5.0],
        units=[-1e6, 0.0, 1e9, 1e-9],
        entry=[1e-4, 0.0, 1e6, 1e6],
        mark=[1e6, 1e-4, 1e6, 1e-4],
        return_sum=[5.0, -5.0, 0.0, 0.0],
        realised=[-1e9, 0.0, 1e9, 0.0],
        steps=[3, 3, 3, 3],
    )
    for rules in (RULES, SimulatorParams()):
        found = observe_accounts(rules, ruined)
        assert torch.isfinite(found).all()
        for feature, numbers in zip(PRIVATE_FEATURES, found, strict=True):
            assert (numbers >= feature.low).all(), feature.name
            assert (numbers <= feature.high).all(), feature.name
