"""A portfolio as the backtester records it: one account, whose positions are the weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.symbol import PORTFOLIO
from tradingbot.envs.portfolio.task import PortfolioTask
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.backtest.backtests import period_label
from tradingbot.evaluation.backtest.result import AccountTotals, Trades
from tradingbot.evaluation.metrics.attribution import Exposure
from tradingbot.evaluation.performance.record import AGENTS
from tradingbot.learning.shrinkage import Act
from tradingbot.learning.task import TaskState

_WHOLE = ("policy", "symbol", "side", "entered_at", "exited_at", "bars", "reason")


@torch.no_grad()
def backtest_portfolio(
    task: PortfolioTask, act: Act, *, bars_per_year: float, name: str = AGENTS
) -> Backtest:
    """Play a portfolio over the bars of its backtest.

    Turnover and costs are those of its net orders, one per symbol and bar. A portfolio has weights
    and no round trips: `trades` is empty.

    Args:
        task: Of one portfolio, which nothing follows: `PortfolioTask.backtest`.
        act: What decides.
        bars_per_year: To annualise with.
        name: Of what decides.
    """
    state, seen = task.begin()
    first = int(seen.row[0, 0])
    equity, columns, held = [1.0], [], []
    terms = torch.zeros(len(task.term_names), 1, device=task.table.device)
    for _ in range(task.episode_bars):
        action = act(seen)
        made = task.step(state, action)
        columns.append(_bar_of(task, made.state, action))
        held.append(_exposure(task, state, made.state))
        state, seen, terms = made.state, made.observation, terms + made.terms[:, 0]
        equity.append(float(task.wealth(state)[0, 0]))
    position, turnover, cost, asked = np.array(columns, np.float64).T[..., None]
    closed_at = task.book.closed_at[first : first + len(equity)]
    nothing = np.zeros(1)
    return Backtest(
        policy=name,
        label=period_label(task.book, closed_at),
        synthetic=task.book.synthetic,
        symbols=(PORTFOLIO,),
        closed_at=closed_at,
        bars_per_year=bars_per_year,
        equity=np.array(equity)[:, None],
        position_frac=position,
        exposure=Exposure(*(np.stack(part) for part in zip(*held, strict=True))),
        turnover_frac=turnover,
        cost_frac=cost,
        action=asked,
        reward_names=task.term_names,
        reward_terms=terms.double().numpy(force=True),
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


def _bar_of(
    task: PortfolioTask, after: TaskState, action: Tensor
) -> tuple[float, float, float, float]:
    """Return position ÷ value at the close, turnover, cost, and the share asked to be invested."""
    now = task.numbers(after)
    return (
        float(after[1][:, 0].sum()),
        float(now.turnover),
        float(now.cost),
        1.0 - float(action[0, 0, -1]),
    )


def _exposure(task: PortfolioTask, before: TaskState, after: TaskState) -> Exposure:
    """Return the exposure (N,) to each symbol over a bar, priced at the close before it."""
    then, now = task.numbers(before), task.numbers(after)
    bars = task.book.bars(then.bar.long())
    moved = (1.0 + bars.gap_frac[0]) * (1.0 + bars.within_frac[0])
    day = now.growth * after[1][:, 0] / moved
    return Exposure(before[1][:, 0].numpy(force=True), day.numpy(force=True))


def _no_trades() -> Trades:
    kinds: dict[str, Any] = dict.fromkeys(_WHOLE, np.int64) | {"is_open": np.bool_}
    names = Trades.__dataclass_fields__
    columns: dict[str, Any] = {name: np.zeros(0, kinds.get(name, np.float64)) for name in names}
    return Trades(**columns)
