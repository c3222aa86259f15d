"""Portfolios as the backtester records them: one account each, that holds every symbol."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.denial import Denial, ExitReason
from tradingbot.domain.symbol import PORTFOLIO
from tradingbot.envs.portfolio.task import PortfolioNumbers, PortfolioTask
from tradingbot.evaluation.backtest.backtests import period_label
from tradingbot.evaluation.backtest.result import AccountTotals, Backtest
from tradingbot.evaluation.backtest.trades import Fills, FloatArray, Trades, trades_of
from tradingbot.evaluation.metrics.attribution import Exposure
from tradingbot.learning.task import Observation, TaskState
from tradingbot.market.portfolio.net_orders import SleeveBars
from tradingbot.networks.threads import torch_threads

Allocator = Callable[[Observation], Tensor]
"""What P = 1 portfolio sees → weights (1, 1, N + 1) of sleeves and cash."""
_TARGET = SleeveBars._fields.index("target_frac")


class PlayedPortfolios(NamedTuple):
    """What happened in S bars to P portfolios, on the task's device."""

    capital: Tensor
    """(S + 1, N + 1, P)"""
    held: Tensor
    """(S + 1, N, P)"""
    numbers: Tensor
    """(S + 1, 9, P) of `PortfolioNumbers`."""
    action: Tensor
    """(S, P, N + 1) weights that were asked for; all cash after a halt."""
    terms: Tensor
    """(K, P) summed."""


class FilledOrders(NamedTuple):
    """What one portfolio's orders did in S bars, (S, N) each, in currency and units."""

    units: FloatArray
    """Filled, signed."""
    left: FloatArray
    """Held after the fill."""
    price: FloatArray
    """Paid or received per unit."""
    fee: FloatArray
    slippage: FloatArray
    """Slippage, spread and impact."""
    denied: NDArray[np.bool_]
    """The gate refused it."""


def backtest_portfolios(
    task: PortfolioTask,
    policies: Mapping[str, Allocator],
    *,
    bars_per_year: float,
    delay_bars: int = 0,
) -> tuple[Backtest, ...]:
    """Play every policy with a portfolio of its own over the bars of a backtest, all at once.

    Turnover, costs and trades are those of net orders, one per symbol and bar.

    Args:
        task: Of as many portfolios, which nothing follows: `PortfolioTask.backtest`.
        policies: Name → what decides.
        bars_per_year: To annualise with.
        delay_bars: Bars that decisions, of policies and of sleeves, wait beyond the next open.
    """
    over = _delayed(task, delay_bars) if delay_bars else task
    played = play_portfolios(over, list(policies.values()), delay_bars)
    first = int(played.numbers[0, -2, 0])
    return tuple(
        replace(_result(over, name, place, first, played, bars_per_year), delay_bars=delay_bars)
        for place, name in enumerate(policies)
    )


def backtest_portfolio(
    task: PortfolioTask, act: Allocator, *, bars_per_year: float, name: str, delay_bars: int = 0
) -> Backtest:
    """Play one portfolio; see `backtest_portfolios`."""
    policies = {name: act}
    (made,) = backtest_portfolios(
        task, policies, bars_per_year=bars_per_year, delay_bars=delay_bars
    )
    return made


def _delayed(task: PortfolioTask, bars: int) -> PortfolioTask:
    """Return a task whose sleeves reach what they want so many bars later; views are the same."""
    rows = task.book.rows.clone()
    rows[bars:, _TARGET] = task.book.rows[:-bars, _TARGET]
    rows[:bars, _TARGET] = 0.0
    return task.with_book(replace(task.book, rows=rows))


@torch.inference_mode()
def play_portfolios(
    task: PortfolioTask, policies: Sequence[Allocator], delay_bars: int = 0
) -> PlayedPortfolios:
    """Let every policy decide for a portfolio of its own, bar by bar; first ones wait in cash.

    A portfolio that was halted asks for nothing any more: its sleeves get no capital, whatever its
    policy says.
    """
    state, seen = task.begin()
    states: list[TaskState] = [state]
    actions = []
    idle = torch.zeros(
        1, len(policies), task.book.n_sleeves + 1, dtype=torch.float64, device=task.table.device
    )
    idle[..., -1] = 1.0
    waiting = deque([idle] * delay_bars)
    terms = torch.zeros(len(task.term_names), len(policies), device=task.table.device)
    with torch_threads(1):  # some thousand numbers a bar are too few to share out
        for _ in range(task.episode_bars):
            asked = [act(_of_one(seen, place)) for place, act in enumerate(policies)]
            waiting.append(torch.cat(asked, dim=1).double())
            halted = (task.numbers(state).halted > 0.0)[:, None]
            action = torch.where(halted, idle, waiting.popleft())
            made = task.step(state, action)
            state, seen, terms = made.state, made.observation, terms + made.terms[:, 0]
            states.append(state)
            actions.append(action[0])
    parts = [torch.stack(part) for part in zip(*states, strict=True)]
    return PlayedPortfolios(parts[0], parts[1], parts[2], torch.stack(actions), terms)


def _of_one(seen: Observation, place: int) -> Observation:
    """Return what one of the portfolios sees."""
    return Observation._make(part[:, place : place + 1] for part in seen)


def _result(
    task: PortfolioTask,
    name: str,
    place: int,
    first: int,
    played: PlayedPortfolios,
    bars_per_year: float,
) -> Backtest:
    def own(part: Tensor) -> FloatArray:
        return np.asarray(part[..., place].double().numpy(force=True))

    now = PortfolioNumbers(*own(played.numbers).T)
    held, length = own(played.held), len(played.action)
    decided, closed_at = slice(first, first + length), task.book.closed_at[first:]
    closed_at = closed_at[: length + 1]
    rows = task.book.rows[decided].numpy(force=True)
    moved = (1.0 + rows[:, 0]) * (1.0 + rows[:, 1])
    day = np.asarray(now.growth)[1:, None] * held[1:] / moved
    orders = filled_orders(task, played, place, first)
    trades, account = _trades(task, orders, now, held, closed_at, first)
    weights = played.action[:, place].double().numpy(force=True)
    return Backtest(
        policy=name,
        label=period_label(task.book, closed_at),
        synthetic=task.book.synthetic,
        symbols=(PORTFOLIO,),
        closed_at=closed_at,
        bars_per_year=bars_per_year,
        equity=np.asarray(now.value)[:, None],
        position_frac=held[1:].sum(axis=1, keepdims=True),
        exposure=Exposure(held[:-1], day),
        turnover_frac=np.asarray(now.turnover)[1:, None],
        cost_frac=np.asarray(now.cost)[1:, None],
        action=1.0 - weights[:, -1:],
        reward_names=task.term_names,
        reward_terms=own(played.terms)[:, None],
        denials=np.array([orders.denied.sum()]),
        trades=trades,
        costs=task.terms.costs,
        delay_bars=0,
        initial_cash_ccy=task.terms.rules.account.initial_cash_ccy,
        account=account,
        held=task.book.symbols,
        weights=weights,
        proposals=task.book.column("proposal")[decided].double().numpy(force=True),
        cash_frac=np.maximum(1.0 - np.abs(held[1:]).sum(axis=1), 0.0),
    )


def filled_orders(
    task: PortfolioTask, played: PlayedPortfolios, place: int, first: int
) -> FilledOrders:
    """Return the orders of one portfolio: every bar is carried over again, all bars at once."""
    parts = (played.capital, played.held, played.numbers)
    state = tuple(part[:-1, :, place].T for part in parts)
    with torch.no_grad():
        made = task.rebalanced(state, played.action[None, :, place])
    numbers = PortfolioNumbers(*state[-1])
    bars = task.book.bars(numbers.bar.long())
    value_ccy = (numbers.value * task.terms.rules.account.initial_cash_ccy)[:, None]
    close = torch.from_numpy(task.book.close[first + 1 : first + 1 + len(value_ccy)])
    opened = close.to(value_ccy.device) / (1.0 + bars.within_frac)
    at_open = (1.0 + bars.gap_frac) * value_ccy
    notional, held = made.order * at_open, state[1].T
    per_unit = torch.where(opened > 0.0, 1.0 / torch.where(opened > 0.0, opened, 1.0), 0.0)
    found = (
        notional * per_unit,
        (held + made.order) * at_open * per_unit,
        opened * made.paid_frac,
        task.terms.costs.commission_frac * made.paid_frac * notional.abs(),
        (made.paid_frac - 1.0).abs() * notional.abs(),
        (made.denial != int(Denial.NONE)) & ((held != 0.0) | (bars.target_frac != 0.0)),
    )
    return FilledOrders._make(each.numpy(force=True) for each in found)


def _trades(
    task: PortfolioTask,
    orders: FilledOrders,
    now: PortfolioNumbers,
    held: FloatArray,
    closed_at: NDArray[np.int64],
    first: int,
) -> tuple[Trades, AccountTotals]:
    """Rebuild trades from net orders, from flat to flat in each symbol, and sum the money moved."""
    lane, step = np.nonzero(orders.units.T)
    columns = [part[step, lane] for part in orders[:5]]
    units, left, price, fee, slippage = columns
    none = np.full(len(step), int(ExitReason.NONE))
    fills = Fills(step + 1, lane, units, price, fee, slippage, left, none)
    cash = task.terms.rules.account.initial_cash_ccy
    mark = task.book.close[first + len(orders.units)]
    trades = trades_of(fills, mark, closed_at, n_symbols=task.book.n_sleeves)
    known = np.where(mark > 0.0, mark, 1.0)
    kept = held[-1] * float(np.asarray(now.value)[-1]) * cash / known
    opened = trades.select(trades.is_open)
    unrealised = kept[opened.symbol] * (known[opened.symbol] - opened.entry_price)
    before = np.asarray(now.value)[:-1] * cash
    borrowed = float((np.asarray(now.cost)[1:] * before).sum() - fee.sum() - slippage.sum())
    realised = float(trades.pnl_ccy.sum() - unrealised.sum()) - borrowed
    totals = (realised, fee.sum(), slippage.sum(), (np.asarray(now.turnover)[1:] * before).sum())
    return trades, AccountTotals._make(np.array([float(each)]) for each in totals)


def pool_accounts(played: Backtest) -> Backtest:
    """Return a backtest of N accounts as that of one portfolio that holds them all."""
    before = played.equity[:-1]

    def share(values: FloatArray, of: FloatArray) -> FloatArray:
        total = (values * of).sum(axis=1, keepdims=True)
        base = of.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(total, base, out=np.zeros_like(total), where=base > 0.0))

    weight = before / np.maximum(before.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return replace(
        played,
        symbols=(PORTFOLIO,),
        equity=played.portfolio[:, None],
        exposure=Exposure(*(part * weight for part in played.exposure)),
        position_frac=share(played.position_frac, played.equity[1:]),
        turnover_frac=share(played.turnover_frac, before),
        cost_frac=share(played.cost_frac, before),
        action=played.action.mean(axis=1, keepdims=True),
        reward_terms=played.reward_terms.mean(axis=1, keepdims=True),
        denials=played.denials.sum(keepdims=True),
        account=AccountTotals._make(part.sum(keepdims=True) for part in played.account),
        held=played.held or played.symbols,
        close=None,
        asked_frac=None,
        fills=None,
    )
