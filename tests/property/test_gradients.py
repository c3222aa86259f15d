"""Differentiable mode: the gradient of net P&L with respect to actions is the true one."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from fixtures.hostile_markets import hostile_market, presence
from tradingbot.domain.seeding import stream
from tradingbot.market import AccountRules, ActionRules, SimulatorParams
from tradingbot.market.account import open_accounts
from tradingbot.market.advance import advance
from tradingbot.market.bars import TensorMarket, tensor_market
from tradingbot.market.costs import COST_PROFILES, CostProfile, cost_profile
from tradingbot.market.episodes import possible_starts
from tradingbot.risk import RiskLimits

STEPS, LANES, FIRST = 12, 32, 30
COSTLY = CostProfile(2e-4, 3e-4, 4e-4, impact_coef=0.8, borrow_frac_per_bar=1e-4)


def calm_market(seed: int) -> TensorMarket:
    """Return a synthetic market that trades in every bar."""
    rng = stream(seed, "calm")
    close = 50.0 * np.exp(rng.normal(0.0, 0.01, (LANES, 64)).cumsum(1))
    open_ = close * np.exp(rng.normal(0.0, 0.003, close.shape))
    high, low = np.maximum(open_, close) * 1.002, np.minimum(open_, close) * 0.998
    volume = np.full_like(close, 5.0e4)
    prices = np.stack((open_, high, low, close, volume), axis=-1)
    return tensor_market(prices, np.ones_like(close, dtype=bool), dtype=torch.float64)


def smooth_rules(space: str, *, allow_short: bool) -> SimulatorParams:
    """Return rules under which nothing is stopped, halted or too small."""
    return SimulatorParams(
        AccountRules(position_loss_frac=1.0, portfolio_loss_frac=1.0, max_participation_frac=1.0),
        RiskLimits(0.5, min_trade_ccy=0.0, allow_short=allow_short),
        ActionRules(space=space, hold_zone=0.1, smoothing_bars=3),
    )


def final_equity(
    rules: SimulatorParams, costs: CostProfile, market: TensorMarket, actions: Tensor
) -> Tensor:
    """Return the equity (B,) after actions (T, B), lane b on symbol b."""
    row = torch.arange(actions.shape[1], dtype=torch.int32) * market.n_bars + FIRST
    account = open_accounts(rules.account.initial_cash_ccy, row, market.bar(row).close)
    rates = costs.rates(dtype=actions.dtype)
    for action in actions:
        account = advance(rules, rates, account, market.bar(account.row + 1), action).after
    return account.equity


@pytest.mark.parametrize("allow_short", [False, True])
@pytest.mark.parametrize("space", ["continuous", "target"])
@pytest.mark.parametrize("costs", [CostProfile(0.0, 0.0), COSTLY], ids=["free", "costly"])
def test_gradient_of_net_profit_equals_finite_differences(
    space: str, allow_short: bool, costs: CostProfile
) -> None:
    market, rules = calm_market(3), smooth_rules(space, allow_short=allow_short)
    drawn = stream(5, space).uniform(-0.95, 0.95, (STEPS, LANES))
    actions = torch.from_numpy(drawn).requires_grad_()
    final_equity(rules, costs, market, actions).sum().backward()
    gradient = actions.grad
    assert gradient is not None
    step, smooth, informative = 1.0e-5, 0, 0
    for bar in range(STEPS):
        moved = torch.zeros_like(actions)
        moved[bar] = step
        with torch.no_grad():
            above = final_equity(rules, costs, market, actions + moved)
            below = final_equity(rules, costs, market, actions - moved)
            here = final_equity(rules, costs, market, actions)
        slope = (above - below) / (2.0 * step)
        # One-sided slopes that differ mark a kink between the two points.
        bend = (above + below - 2.0 * here).abs() / step
        away = bend <= 1.0e-3 * slope.abs() + 1.0e-2
        error = (gradient[bar] - slope).abs()
        assert (error[away] <= 1.0e-4 * slope.abs()[away] + 1.0e-3).all()
        smooth += int(away.sum())
        informative += int((away & (slope.abs() > 1.0)).sum())
    assert smooth >= 0.8 * actions.numel()
    assert informative >= 0.2 * actions.numel()


@pytest.mark.parametrize("profile", sorted(COST_PROFILES))
@pytest.mark.parametrize("space", ["continuous", "target"])
@pytest.mark.parametrize("take_profit", [0.05, math.inf])
def test_gradient_at_kinks_and_in_broken_markets_is_finite(
    space: str, profile: str, take_profit: float
) -> None:
    market = hostile_market(stream(11, space), n_symbols=LANES, n_bars=FIRST + STEPS + 2)
    rules = smooth_rules(space, allow_short=True)
    rules = dataclasses.replace(
        rules,
        account=AccountRules(stop_loss_frac=0.05, take_profit_frac=take_profit),
        limits=dataclasses.replace(rules.limits, max_stale_bars=100),
    )
    # 0 and ±hold zone and ±1 are kinks; the first rows keep the account flat.
    kinks = stream(7, space).choice([-1.0, -0.1, 0.0, 0.1, 0.5, 1.0, math.nan], (STEPS, LANES))
    kinks[:3] = 0.0
    actions = torch.from_numpy(kinks).requires_grad_()
    equity = final_equity(rules, cost_profile(profile), market, actions)
    assert torch.isfinite(equity).all()
    equity.sum().backward()
    assert actions.grad is not None
    assert torch.isfinite(actions.grad).all()
    assert (actions.grad != 0.0).any()


def test_broken_market_of_the_gradient_test_is_broken() -> None:
    """The test above needs absent bars and bars without volume where its episodes are."""
    market = hostile_market(stream(11, "target"), n_symbols=LANES, n_bars=FIRST + STEPS + 2)
    present = presence(market)
    assert possible_starts(present, window_bars=1, episode_bars=STEPS).any()
    during = market.rows.reshape(LANES, -1, 8)[:, FIRST : FIRST + STEPS]
    assert (during[..., 6] == 0.0).any()
    assert ((during[..., 6] == 1.0) & (during[..., 4] == 0.0)).any()
