"""From backtests to records of performance: one policy, one agent, one against another."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.data.calendar import closing_day
from tradingbot.data.factor import MarketFactor
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.backtest.attribution import attribute_backtest
from tradingbot.evaluation.metrics import returns, trading
from tradingbot.evaluation.metrics.attribution import Attribution
from tradingbot.evaluation.performance.record import (
    HOLD,
    ORACLE,
    AgentPerformance,
    EarnedParts,
    PartPerformance,
    PolicyKind,
    PolicyPerformance,
)
from tradingbot.evaluation.statistics import policy_intervals as intervals
from tradingbot.evaluation.statistics.bootstrap import bootstrap_draws
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.learning.playing import action_histogram
from tradingbot.learning.task import ActionSpec

FloatArray = NDArray[np.float64]


class PlayedPolicy(NamedTuple):
    """A backtest and what it is of."""

    kind: PolicyKind
    backtest: Backtest


def require_finite(played: Backtest) -> Backtest:
    """Refuse a backtest whose worth is not a number somewhere.

    Raises:
        DataError: Naming policy, symbol and time.
    """
    bad = np.argwhere(~np.isfinite(played.equity))
    if len(bad):
        bar, symbol = (int(place) for place in bad[0])
        at = played.closed_at[bar].astype("datetime64[us]")
        rule = "equity must be a number at every bar"
        where = f"{played.policy}, {played.symbols[symbol]}, {at} UTC"
        remedy = "Look at the prices of that bar: tradingbot data validate"
        raise DataError(rule, was=played.equity[bar, symbol], where=where, remedy=remedy)
    return played


def day_ends(played: Backtest) -> NDArray[np.int64]:
    """Return the places on the axis (S + 1,) of the start and of each day's last bar."""
    days = closing_day(played.closed_at.astype("datetime64[us]"))
    return np.unique(np.append(0, np.flatnonzero(np.append(days[1:] != days[:-1], True))))


def annual_sharpe_or_zero(series: FloatArray, bars_per_year: float) -> float:
    """Return the annual Sharpe ratio; 0 where nothing moves."""
    found = returns.annual_sharpe(series, bars_per_year=bars_per_year)
    return 0.0 if math.isnan(found) else found


def share_interval(mine: FloatArray, best: FloatArray, n_draws: int) -> Interval | None:
    """Return what one policy earns ÷ what the best one does; None where that earns nothing.

    In a history in which the best earns nothing the share has no bound; so has the interval's end
    where more than one history in forty is such.
    """
    if best.mean() <= 0.0:
        return None

    def ratio(histories: FloatArray) -> FloatArray:
        means = histories.mean(axis=1)
        earns = means[:, 1] > 0.0
        beyond = np.where(means[:, 0] > 0.0, np.inf, -np.inf)
        return np.asarray(np.divide(means[:, 0], means[:, 1], out=beyond, where=earns))

    both = np.stack([mine, best], axis=1)
    draws = bootstrap_draws(both, ratio, n_draws=n_draws)
    # Of the draws as they are: between a number and infinity there is nothing to interpolate.
    low, high = np.quantile(draws, [0.025, 0.975], method="nearest")
    return Interval(float(mine.mean() / best.mean()), float(low), float(high))


def is_better(mine: FloatArray, other: FloatArray) -> bool:
    """Tell whether one policy earns more per bar than another, beyond 97.5 % of chance."""
    return intervals.interval_of(mine - other).low > 0.0


def part_performance(
    part: str,
    played: Sequence[PlayedPolicy],
    histograms: FloatArray,
    trading_agents: Collection[str],
    *,
    factor: MarketFactor,
    reference: str = HOLD,
    share_draws: int = intervals.DRAWS,
) -> PartPerformance:
    """Return the figures of every policy over one part of the data.

    Args:
        part: Its name.
        played: The agents, then their opponents, `HOLD` among them, all over the same bars.
        histograms: (N, bins) shares of each agent's actions.
        trading_agents: Names of those that validation lets trade.
        factor: The market of all symbols, with betas of bars before the part.
        reference: Policy that alpha and beta of the regression refer to.
        share_draws: Histories of the interval of the share of the oracle.
    """
    tests = {each.backtest.policy: each.backtest for each in played}
    agents, hold = played[0].backtest, tests[HOLD]
    market, mine = tests[reference].portfolio_returns, agents.returns.mean(axis=1)
    best = tests[ORACLE].returns.mean(axis=1) if ORACLE in tests else None
    days = closing_day(agents.closed_at.astype("datetime64[us]"))[day_ends(agents)]
    parts = [attribute_backtest(each.backtest, factor) for each in played]
    of_hold = next(mine for mine, each in zip(parts, played, strict=True) if each.backtest is hold)
    models = [each.backtest for each in played if each.kind == "supervised"]
    return PartPerformance(
        part=part,
        first_day=str(days[0]),
        last_day=str(days[-1]),
        bars=agents.n_bars,
        days=tuple(str(day) for day in days),
        reference=reference,
        policies=tuple(
            policy_performance(each.backtest, each.kind, market, parts=parts[number])
            for number, each in enumerate(played)
        ),
        agents=add_parts(
            agent_performances(agents, hold, histograms, trading_agents, models), parts[0]
        ),
        excess_over_hold_bps=intervals.net_bps_interval(mine - hold.returns.mean(axis=1)),
        share_of_oracle=None if best is None else share_interval(mine, best, share_draws),
        voluntary_trade_frac=voluntary_trade_frac(agents),
        trades_per_1000=1e3 * float(traded_steps(agents).mean()),
        factor=factor.words,
        alpha_over_hold_bps=intervals.net_bps_interval(
            parts[0].alpha.mean(axis=1) - of_hold.alpha.mean(axis=1)
        ),
    )


def policy_performance(
    played: Backtest,
    kind: PolicyKind,
    reference: FloatArray | None = None,
    *,
    parts: Attribution | None = None,
) -> PolicyPerformance:
    """Return the figures of one policy as a portfolio.

    Args:
        played: Its backtest.
        kind: What it is.
        reference: (S,) returns that alpha and beta refer to; they are NaN without one.
        parts: What it earned taken apart: `attribute_backtest`.
    """
    series, per_year = played.portfolio_returns, played.bars_per_year
    sleeves, closed = played.returns.mean(axis=1), played.trades.select(~played.trades.is_open)
    alpha = None if parts is None else parts.alpha.mean(axis=1)
    return PolicyPerformance(
        policy=played.policy,
        kind=kind,
        total_return_frac=returns.total_return(series),
        annual_return_frac=returns.annual_return(series, bars_per_year=per_year),
        sharpe_annual=intervals.sharpe_interval(series, per_year),
        sortino_annual=returns.annual_sortino(series, bars_per_year=per_year),
        calmar=returns.annual_calmar(series, bars_per_year=per_year),
        max_drawdown_frac=returns.max_drawdown(series),
        net_bps_per_bar=intervals.net_bps_interval(sleeves),
        win_rate_frac=trading.win_rate(closed.pnl_ccy),
        profit_factor=trading.profit_factor(closed.pnl_ccy),
        turnover_per_bar_frac=trading.turnover_per_bar(played.turnover_frac.mean(axis=1)),
        n_trades=len(closed),
        mean_trade_bars=trading.mean_trade_bars(closed.bars),
        exposure_frac=trading.mean_exposure(np.abs(played.position_frac).mean(axis=1)),
        alpha_annual_frac=math.nan
        if reference is None
        else returns.annual_alpha(series, reference, bars_per_year=per_year),
        beta=math.nan if reference is None else returns.beta(series, reference),
        cost_share_frac=trading.cost_share(sleeves, played.cost_frac.mean(axis=1)),
        equity=tuple(played.portfolio[day_ends(played)].tolist()),
        earned=None if parts is None else earned_parts(parts),
        win_rate_interval=_win_rate(played),
        alpha_sharpe_annual=math.nan if alpha is None else annual_sharpe_or_zero(alpha, per_year),
    )


def earned_parts(parts: Attribution) -> EarnedParts:
    """Return the means of what was earned, taken apart, with intervals."""
    return EarnedParts(*(intervals.net_bps_interval(each.mean(axis=1)) for each in parts))


def add_parts(rows: Sequence[AgentPerformance], parts: Attribution) -> tuple[AgentPerformance, ...]:
    """Say of each agent what of its net return was market, timing and alpha."""
    market, timing, alpha = (1e4 * each.mean(axis=0) for each in parts)
    return tuple(
        replace(
            row,
            market_bps_per_bar=float(market[number]),
            timing_bps_per_bar=float(timing[number]),
            alpha_bps_per_bar=float(alpha[number]),
        )
        for number, row in enumerate(rows)
    )


def _win_rate(played: Backtest) -> Interval | None:
    closed = played.trades.select(~played.trades.is_open)
    first, last = (
        np.searchsorted(played.closed_at, each) for each in (closed.entered_at, closed.exited_at)
    )
    won, n_bars = closed.pnl_ccy > 0.0, len(played.closed_at)
    return intervals.win_rate_interval(won, first, last, n_bars) if len(closed) else None


def agent_performances(
    played: Backtest,
    hold: Backtest,
    histograms: FloatArray,
    trading_agents: Collection[str],
    models: Sequence[Backtest] = (),
) -> tuple[AgentPerformance, ...]:
    """Return one line per agent.

    Args:
        played: The agents' backtest.
        hold: Buying and holding the same symbols over the same bars.
        histograms: (N, bins) shares of each agent's actions.
        trading_agents: Names of those that validation lets trade.
        models: A supervised model at its thresholds, on the same symbols and bars.
    """
    rows = [
        _agent_row(played, hold, histograms[index], index, name in trading_agents)
        for index, name in enumerate(played.symbols)
    ]
    if models:
        earned = [[returns.total_return(series) for series in each.returns.T] for each in models]
        best = np.max(np.array(earned), axis=0).tolist()
        pairs = zip(rows, best, strict=True)
        rows = [replace(row, supervised_return_frac=value) for row, value in pairs]
    return tuple(rows)


def _agent_row(
    played: Backtest, hold: Backtest, histogram: FloatArray, index: int, trades: bool
) -> AgentPerformance:
    series = played.returns[:, index]
    mine = played.trades.select((played.trade_account == index) & ~played.trades.is_open)
    return AgentPerformance(
        agent=played.symbols[index],
        trades=trades,
        sharpe_annual=annual_sharpe_or_zero(series, played.bars_per_year),
        total_return_frac=returns.total_return(series),
        hold_return_frac=returns.total_return(hold.returns[:, index]),
        max_drawdown_frac=returns.max_drawdown(series),
        win_rate_frac=trading.win_rate(mine.pnl_ccy),
        profit_factor=trading.profit_factor(mine.pnl_ccy),
        net_bps_per_bar=1e4 * float(series.mean()),
        n_trades=len(mine),
        trades_per_1000=1e3 * float(traded_steps(played)[:, index].mean()),
        turnover_per_bar_frac=trading.turnover_per_bar(played.turnover_frac[:, index]),
        action_entropy=trading.action_entropy(histogram),
        largest_bin_frac=float(histogram.max()),
    )


def action_histograms(played: Backtest, action: ActionSpec) -> FloatArray:
    """Return the share (N, bins) of each action bin: codes, or seven equal bins of the range."""
    actions = torch.from_numpy(played.action)[..., None]
    actions = actions.long() if action.kind == "discrete" else actions
    return np.asarray(action_histogram(actions, action).numpy())


def traded_steps(played: Backtest) -> NDArray[np.bool_]:
    """Tell in which bars (S, N) something was traded."""
    return np.asarray(played.turnover_frac > 0.0)


def voluntary_trade_frac(played: Backtest) -> float:
    """Return the share of steps in which the policy asked for a trade and got it.

    What a stop or a limit of the account closed was not asked for.
    """
    traded = traded_steps(played)
    forced = int((played.trades.reason != 0).sum())
    return max(0, int(traded.sum()) - forced) / traded.size
