"""How fast a portfolio of 143 sleeves over two years is: agents, book, master and net orders.

First the portfolio is played again by plain loops over sleeves, with no tensors, for some bars:
only what is equal is timed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.agents.network_policy import NetworkPolicy
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population.layout import market_table
from tradingbot.envs.portfolio.book import SleeveBook
from tradingbot.envs.portfolio.sleeves import write_book
from tradingbot.envs.portfolio.task import PortfolioTask, PortfolioTerms
from tradingbot.evaluation.backtest import Backtest, sleeve_config
from tradingbot.evaluation.backtest.portfolios import Allocator, backtest_portfolio
from tradingbot.learning.task import Observation
from tradingbot.market.costs import CostProfile
from tradingbot.networks.actor_layout import Squash
from tradingbot.networks.distributions import to_simplex
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.set_head import SetHead
from tradingbot.networks.view import TableView
from tradingbot.training.sleeve_book import trade_sleeves
from tradingbot_benchmarks.record import BenchRecord, against

Progress = Callable[[int, int, str], None]
FloatArray = NDArray[np.float64]
BUDGET_S = 5.0
"""What the whole may take on two cores."""
TOLERANCE = 1e-9
_BARS_PER_YEAR = 1_764.0
_COMPARED_BARS = 40
_REPEATS = 2


@dataclass(frozen=True)
class PortfolioSize:
    """What is measured."""

    n_symbols: int = 143
    n_bars: int = 3_528
    """Two years of hourly bars."""


def measure_backtest(size: PortfolioSize, progress: Progress) -> BenchRecord:
    """Time agents, book and master together, after the accounts were compared.

    Raises:
        RuntimeError: If the portfolio is not that of the plain loops.
    """
    progress(0, 3, "synthetic bars")
    world = synthetic_world("regimes", n_symbols=size.n_symbols, n_bars=size.n_bars, seed=1)
    config, table = sleeve_config(), market_table(world)
    head = StackedHead(
        size.n_symbols, table.shape[-1] + 18, 1, HeadConfig(hidden=(64,)), _generator()
    )
    agents = NetworkPolicy(TableView(table), head.requires_grad_(False), Squash())
    book = write_book(world, trade_sleeves(world, config, agents))
    progress(1, 3, "equality with plain loops")
    _require_equal(book, config)
    seconds = []
    for repeat in range(_REPEATS):
        progress(1 + repeat, 3, "portfolio")
        begin = perf_counter()
        book = write_book(world, trade_sleeves(world, config, agents))
        _play(book, config, book.n_bars - 1)
        seconds.append(perf_counter() - begin)
    note = (
        f"synthetic, {size.n_symbols} agents of 64 hidden units × {size.n_bars:,} bars, a master "
        f"above, net orders through the gate; best of {_REPEATS}, {torch.get_num_threads()} threads"
    )
    record = against("portfolio_backtest_143x2y", min(seconds), "s", BUDGET_S, "budget")
    return replace(record, note=note)


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def _master(task: PortfolioTask) -> Allocator:
    width = task.table.shape[-1] + task.n_private
    head = SetHead(task.members, width, 1, HeadConfig(hidden=(32,)), _generator())
    head.requires_grad_(False)
    table = task.table[0]

    def act(seen: Observation) -> torch.Tensor:
        return to_simplex(head(torch.cat([table[seen.row], seen.private], dim=-1)))

    return act


def _play(book: SleeveBook, config: EnvConfig, last: int) -> Backtest:
    task = PortfolioTask(book, PortfolioTerms(config.rules, config.costs), n_envs=1, seed=0)
    first = int(np.flatnonzero(book.usable)[0])
    over = task.backtest(first, last)
    return backtest_portfolio(over, _master(task), bars_per_year=_BARS_PER_YEAR, name="master")


def _require_equal(book: SleeveBook, config: EnvConfig) -> None:
    """Compare some bars with an account that is kept by hand."""
    first = int(np.flatnonzero(book.usable)[0])
    task = PortfolioTask(book, PortfolioTerms(config.rules, config.costs), n_envs=1, seed=0)
    act, weights = _master(task), []

    def noted(seen: Observation) -> torch.Tensor:
        chosen = act(seen)
        weights.append(chosen[0, 0].double().numpy())
        return chosen

    over = task.backtest(first, first + _COMPARED_BARS)
    played = backtest_portfolio(over, noted, bars_per_year=_BARS_PER_YEAR, name="master")
    expected = plain_portfolio(book, np.array(weights), config, first)
    worst = float(np.abs(played.equity[:, 0] - expected).max())
    if worst > TOLERANCE:
        raise RuntimeError(f"portfolios must be equal to {TOLERANCE:g}, differ by {worst:g}")


def plain_portfolio(
    book: SleeveBook, weights: FloatArray, config: EnvConfig, first: int
) -> FloatArray:
    """Keep cash and units of one portfolio by loops over sleeves; return its value (S + 1,).

    Long only, without impact; small orders are not sent, and sales pay for buys.

    Args:
        book: What sleeves do.
        weights: (S, N + 1) asked for at each close.
        config: Limits and costs.
        first: Bar of the first decision.
    """
    costs: CostProfile = config.costs
    initial = config.rules.account.initial_cash_ccy
    least, slip = config.rules.limits.min_trade_ccy, costs.slippage_frac + 0.5 * costs.spread_frac
    cash, held, worth = initial, [0.0] * book.n_sleeves, [1.0]
    for step, asked in enumerate(weights):
        gap, within, target, market = book.rows[first + step, :4].numpy()
        value = cash + sum(held)
        asked = asked / asked.sum()
        orders = []
        for n in range(book.n_sleeves):
            order = asked[n] * target[n] * value - held[n]
            closes = abs(held[n] + order) < 1e-9 * max(held[n], 1e-9)
            sent = market[n] > 0.0 and (abs(order) >= least or closes)
            orders.append(order if sent else 0.0)
        funds = cash + sum(
            -order * (1.0 + gap[n]) * (1.0 - slip) * (1.0 - costs.commission_frac)
            for n, order in enumerate(orders)
            if order < 0.0
        )
        needed = sum(
            order * (1.0 + gap[n]) * (1.0 + slip) * (1.0 + costs.commission_frac)
            for n, order in enumerate(orders)
            if order > 0.0
        )
        share = min(1.0, funds / needed) if needed > 0.0 else 1.0
        for n, order in enumerate(orders):
            filled = (order * share if order > 0.0 else order) * (1.0 + gap[n])
            paid = filled * (1.0 + np.sign(filled) * slip)
            cash -= paid + costs.commission_frac * abs(paid)
            held[n] = (held[n] * (1.0 + gap[n]) + filled) * (1.0 + within[n])
        worth.append((cash + sum(held)) / initial)
    return np.array(worth)
