"""Portfolios as the backtester records them: one account each, whose positions are the weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.symbol import PORTFOLIO
from tradingbot.envs.portfolio.task import PortfolioNumbers, PortfolioTask
from tradingbot.evaluation.backtest.backtests import period_label
from tradingbot.evaluation.backtest.result import AccountTotals, Backtest, Trades
from tradingbot.evaluation.metrics.attribution import Exposure
from tradingbot.learning.task import Observation, TaskState

Allocator = Callable[[Observation], Tensor]
"""What P = 1 portfolio sees → weights (1, 1, N + 1) of sleeves and cash."""
_WHOLE = ("policy", "symbol", "side", "entered_at", "exited_at", "bars", "reason")


class PlayedPortfolios(NamedTuple):
    """What happened in S bars to P portfolios, on the task's device."""

    capital: Tensor
    """(S + 1, N + 1, P)"""
    held: Tensor
    """(S + 1, N, P)"""
    numbers: Tensor
    """(S + 1, 9, P) of `PortfolioNumbers`."""
    action: Tensor
    """(S, P, N + 1) weights that were asked for."""
    terms: Tensor
    """(K, P) summed."""


def backtest_portfolios(
    task: PortfolioTask, policies: Mapping[str, Allocator], *, bars_per_year: float
) -> tuple[Backtest, ...]:
    """Play every policy with a portfolio of its own over the bars of a backtest, all at once.

    Turnover and costs are those of net orders, one per symbol and bar. A portfolio has weights and
    no round trips: `trades` is empty.

    Args:
        task: Of as many portfolios, which nothing follows: `PortfolioTask.backtest`.
        policies: Name → what decides.
        bars_per_year: To annualise with.
    """
    played = play_portfolios(task, list(policies.values()))
    first = int(played.numbers[0, -2, 0])
    return tuple(
        _result(task, name, place, first, played, bars_per_year)
        for place, name in enumerate(policies)
    )


def backtest_portfolio(
    task: PortfolioTask, act: Allocator, *, bars_per_year: float, name: str
) -> Backtest:
    """Play one portfolio; see `backtest_portfolios`."""
    (made,) = backtest_portfolios(task, {name: act}, bars_per_year=bars_per_year)
    return made


@torch.no_grad()
def play_portfolios(task: PortfolioTask, policies: Sequence[Allocator]) -> PlayedPortfolios:
    """Let every policy decide for a portfolio of its own, bar by bar."""
    state, seen = task.begin()
    states: list[TaskState] = [state]
    actions = []
    terms = torch.zeros(len(task.term_names), len(policies), device=task.table.device)
    for _ in range(task.episode_bars):
        asked = [act(_of_one(seen, place)) for place, act in enumerate(policies)]
        action = torch.cat(asked, dim=1)
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
    def own(part: Tensor) -> NDArray[np.float64]:
        return np.asarray(part[..., place].double().numpy(force=True))

    now = PortfolioNumbers(*own(played.numbers).T)
    held, length = own(played.held), len(played.action)
    rows = task.book.rows[first : first + length].numpy(force=True)
    moved = (1.0 + rows[:, 0]) * (1.0 + rows[:, 1])
    day = np.asarray(now.growth)[1:, None] * held[1:] / moved
    closed_at = task.book.closed_at[first : first + length + 1]
    nothing = np.zeros(1)
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
        action=1.0 - own(played.action[..., -1])[:, None],
        reward_names=task.term_names,
        reward_terms=own(played.terms)[:, None],
        denials=np.zeros(1, np.int64),
        trades=_no_trades(),
        costs=task.terms.costs,
        delay_bars=0,
        initial_cash_ccy=task.terms.rules.account.initial_cash_ccy,
        account=AccountTotals(nothing, nothing, nothing, nothing),
        held=task.book.symbols,
    )


def pool_accounts(played: Backtest) -> Backtest:
    """Return a backtest of N accounts as that of one portfolio that holds them all."""
    before = played.equity[:-1]

    def share(values: NDArray[np.float64], of: NDArray[np.float64]) -> NDArray[np.float64]:
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
        trades=replace(played.trades, symbol=np.zeros_like(played.trades.symbol)),
        account=AccountTotals._make(part.sum(keepdims=True) for part in played.account),
        held=played.held or played.symbols,
        close=None,
    )


def _no_trades() -> Trades:
    kinds: dict[str, Any] = dict.fromkeys(_WHOLE, np.int64) | {"is_open": np.bool_}
    names = Trades.__dataclass_fields__
    columns: dict[str, Any] = {name: np.zeros(0, kinds.get(name, np.float64)) for name in names}
    return Trades(**columns)
