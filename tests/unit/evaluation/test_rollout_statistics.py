"""Figures of a rollout, on equity small enough to check by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.backtest.trades import Trades
from tradingbot.evaluation.rollout import PolicyRollout, sleeve_config
from tradingbot.evaluation.rollout_statistics import (
    drawdown_of,
    measure_rollout,
    portfolio_equity,
)
from tradingbot.evaluation.statistics.interval import Interval

HOUR = 3_600_000_000


def make_trades(policy: list[int], pnl: list[float], is_open: list[bool]) -> Trades:
    zeros = np.zeros(len(policy))
    whole = np.zeros(len(policy), dtype=np.int64)
    return Trades(
        np.array(policy, dtype=np.int64), *[whole] * 5, *[zeros] * 5, np.array(pnl),
        np.array(is_open, dtype=bool), whole,
    )  # fmt: skip


def make_rollout(equity: np.ndarray) -> PolicyRollout:
    """Two policies, two sleeves of 100,000; equity (S + 1, 2, 2) is given in thousands."""
    shape = equity.shape[1:]
    return PolicyRollout(
        label="made by hand",
        synthetic=True,
        policies=("first", "second"),
        symbols=("A", "B"),
        closed_at=np.arange(len(equity)) * HOUR,
        closes=np.ones((len(equity), 2)),
        equity=1_000.0 * equity,
        exposure_frac=np.array([[0.2, 0.4], [1.0, 1.0]]),
        reward_names=("pnl", "cost"),
        reward_terms=np.array([[[1.0, 3.0], [0.0, 0.0]], [[-0.5, -0.5], [-1.0, 0.0]]]),
        realised_ccy=np.zeros(shape),
        commission_ccy=np.array([[10.0, 30.0], [0.0, 0.0]]),
        slippage_ccy=np.array([[100.0, 60.0], [0.0, 0.0]]),
        turnover_ccy=np.array([[3e5, 1e5], [0.0, 0.0]]),
        denials=np.zeros(shape, dtype=np.int64),
        trades=make_trades([0, 0, 0, 0, 1], [5.0, -3.0, 0.0, 9.0, 1.0], [False] * 3 + [True] * 2),
        config=sleeve_config(),
    )


@pytest.fixture(scope="module")
def equity() -> np.ndarray:
    first = np.array([100.0, 110.0, 99.0, 104.5] + [104.5] * 37)
    flat = np.full(41, 100.0)
    return np.stack([np.stack([first, flat], axis=-1), np.stack([flat, flat], axis=-1)], axis=1)


def test_figures_are_those_computed_by_hand(equity: np.ndarray) -> None:
    first, second = measure_rollout(make_rollout(equity), bars_per_year=1_746.0)

    assert first.policy == "first"
    assert first.total_return_frac == pytest.approx(0.0225)  # 104.5 and 100 on 200
    assert first.max_drawdown_frac == pytest.approx(1.0 - 99.5 / 105.0)
    sleeve = (0.1 - 0.1 + 104.5 / 99.0 - 1.0) / 40
    assert first.net_bps_per_bar.estimate == pytest.approx(1e4 * sleeve / 2)
    returns = np.zeros(40)
    returns[:3] = [0.05, 99.5 / 105.0 - 1.0, 102.25 / 99.5 - 1.0]
    expected = returns.mean() / returns.std(ddof=1) * math.sqrt(1_746.0)
    assert first.sharpe_annual.estimate == pytest.approx(expected)
    assert first.sharpe_annual.low <= expected <= first.sharpe_annual.high
    assert first.exposure_frac == pytest.approx(0.3)
    assert (first.n_trades, first.n_open_trades) == (3, 1)
    assert first.win_rate_frac == pytest.approx(1 / 3)  # a trade of 0 is not won
    assert (first.commission_ccy, first.slippage_ccy) == (40.0, 160.0)
    assert first.costs_frac == pytest.approx(0.001)
    assert first.turnover_per_bar_frac == pytest.approx(4e5 / 2e5 / 40)
    assert first.reward == pytest.approx(1.5)
    assert second.total_return_frac == 0.0
    assert second.sharpe_annual == Interval(0.0, 0.0, 0.0)
    assert math.isnan(second.win_rate_frac)


def test_sleeves_are_one_portfolio_of_one(equity: np.ndarray) -> None:
    worth = portfolio_equity(make_rollout(equity))

    assert worth[:4, 0] == pytest.approx([1.0, 1.05, 0.995, 1.0225])
    assert drawdown_of(worth)[:3, 0] == pytest.approx([0.0, 0.0, 1.0 - 0.995 / 1.05])


def test_account_that_lost_everything_has_no_further_returns(equity: np.ndarray) -> None:
    lost = equity.copy()
    lost[5:, 0] = 0.0

    first, _ = measure_rollout(make_rollout(lost), bars_per_year=1_746.0)

    assert first.total_return_frac == -1.0
    assert first.max_drawdown_frac == 1.0
    assert math.isfinite(first.net_bps_per_bar.low)


def test_too_few_bars_are_refused(equity: np.ndarray) -> None:
    few = make_rollout(equity[:5])

    with pytest.raises(DataError, match="interval must rest on 8"):
        measure_rollout(replace(few, closed_at=few.closed_at[:5]), bars_per_year=1_746.0)
