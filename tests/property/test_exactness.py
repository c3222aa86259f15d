"""How far rounding carries an account from its books, in float64 and in float32.

`docs/concepts/simulator.md` ("Rounding") states the bounds that are tested here.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from tradingbot.domain.seeding import stream
from tradingbot.market import AccountRules, ActionRules, SimulatorParams
from tradingbot.market.account import Account, open_accounts
from tradingbot.market.advance import advance
from tradingbot.market.bars import TensorMarket, tensor_market
from tradingbot.market.costs import CostProfile, CostRates
from tradingbot.market.params import EpisodeRules
from tradingbot.risk import RiskLimits

N_SYMBOLS, N_BARS = 4, 1024
COSTS = CostProfile(2e-7, 2e-7, 2e-7, impact_coef=1e-3, borrow_frac_per_bar=1e-9)
EXACT = 1.0e-9
CASH = 1.0e5
STEP_ROUNDINGS = 0.5
"""Bound of the drift in float32, in ε of the account per step."""

RULES = SimulatorParams(
    AccountRules(stop_loss_frac=0.03, take_profit_frac=0.04, portfolio_loss_frac=1.0),
    RiskLimits(0.2, allow_short=True),
    ActionRules(space="target", smoothing_bars=3),
    EpisodeRules(episode_bars=2**30),
)


def endless_market(dtype: torch.dtype) -> TensorMarket:
    """Return a synthetic market without a trend, to be walked through again and again."""
    rng = stream(2, "endless")
    noise = rng.normal(0.0, 0.01, (N_SYMBOLS, N_BARS))
    log_close = np.zeros_like(noise)
    for bar in range(1, N_BARS):
        log_close[:, bar] = 0.98 * log_close[:, bar - 1] + noise[:, bar]
    close = np.array([[1e-3], [1.0], [123.4], [9e5]]) * np.exp(log_close)
    open_ = close * np.exp(rng.normal(0.0, 0.003, close.shape))
    high, low = np.maximum(open_, close) * 1.004, np.minimum(open_, close) * 0.996
    volume = 1.0e7 / close * (rng.random(close.shape) > 0.02)
    prices = np.stack((open_, high, low, close, volume), axis=-1)
    return tensor_market(prices, rng.random(close.shape) > 0.02, dtype=dtype)


class Walk(NamedTuple):
    """Accounts on an endless walk, and books kept beside them in float64."""

    account: Account
    books: Tensor
    """(B,) equity from fills, closes and rates alone."""
    scale: Tensor
    """(B,) most cash an account has held."""
    entry_drift: Tensor
    """(B,) largest |equity − initial − realised − unrealised| so far, of `scale`."""
    books_drift: Tensor
    """(B,) largest |equity − books| so far, of `scale`."""


def step_on(market: TensorMarket, rates: CostRates, walk: Walk, action: Tensor) -> Walk:
    """Take one step, book it, and begin the market again at its end."""
    was = walk.account
    done = advance(RULES, rates, was, market.bar(was.row + 1), action)
    now = done.after
    units, mark = now.units.double(), now.mark.double()
    books = walk.books + units * mark - was.units.double() * was.mark.double()
    for fill in (done.fill, done.exit_fill):
        paid = fill.units.double() * fill.price.double()
        books = books - paid - rates.commission_frac.double() * paid.abs()
    books = books - rates.borrow_frac_per_bar.double() * (-units).clamp_min(0.0) * mark
    equity = now.cash.double() + units * mark
    known = CASH + now.realised.double() + units * (mark - now.entry.double())
    scale = torch.maximum(walk.scale, now.cash.double().abs())
    wraps = now.row % N_BARS == N_BARS - 1
    return Walk(
        now._replace(row=torch.where(wraps, now.row - (N_BARS - 1), now.row)),
        books,
        scale,
        torch.maximum(walk.entry_drift, (equity - known).abs() / scale),
        torch.maximum(walk.books_drift, (equity - books).abs() / scale),
    )


def walk_far(
    dtype: torch.dtype, n_lanes: int, n_steps: int, stride: Callable[..., Walk] = step_on
) -> Walk:
    """Trade at random for many bars."""
    market = endless_market(dtype)
    row = torch.arange(n_lanes, dtype=torch.int32) % N_SYMBOLS * N_BARS
    zero = torch.zeros(n_lanes, dtype=torch.float64)
    account = open_accounts(CASH, row, market.bar(row).close)
    walk = Walk(account, zero + CASH, zero + CASH, zero, zero.clone())
    rates = COSTS.rates(dtype=dtype)
    generator = torch.Generator().manual_seed(3)
    for _ in range(n_steps):
        action = torch.rand(n_lanes, generator=generator, dtype=dtype) * 2.0 - 1.0
        walk = stride(market, rates, walk, action)
    assert (walk.account.turnover > 0.01 * CASH * n_steps).all()
    return walk


def test_float64_over_thousands_of_steps_is_exact() -> None:
    walk = walk_far(torch.float64, n_lanes=64, n_steps=2_000)
    assert walk.entry_drift.max() < EXACT
    assert walk.books_drift.max() < EXACT


def test_float32_over_an_episode_keeps_its_bound() -> None:
    n_steps = 300
    walk = walk_far(torch.float32, n_lanes=256, n_steps=n_steps)
    bound = STEP_ROUNDINGS * torch.finfo(torch.float32).eps * n_steps
    assert walk.entry_drift.max() < bound
    assert walk.books_drift.max() < bound


@pytest.mark.slow
def test_float64_over_a_million_steps_is_exact() -> None:
    if not any(shutil.which(name) for name in ("g++", "clang++", "c++")):
        pytest.skip("a million steps are walked in compiled code, and there is no C++ compiler")
    with torch.no_grad():
        walk = walk_far(torch.float64, 4, 1_000_000, torch.compile(step_on, fullgraph=True))
    assert walk.entry_drift.max() < EXACT
    assert walk.books_drift.max() < EXACT
