"""`tb.backtest`: a strategy, a rule or a trained run on bars, with figures and their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tradingbot.agents.policy import MarketRule, Policy
from tradingbot.data.factor import EQUAL_WEIGHT, require_factor
from tradingbot.data.splits import IndexRange
from tradingbot.domain.denial import ExitReason
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.world import World
from tradingbot.evaluation.analyses.portfolio_run import ChainPolicy
from tradingbot.evaluation.backtest import Backtest, PolicyUnderTest, baseline, sleeve_config
from tradingbot.evaluation.backtest import backtest as backtest_one
from tradingbot.evaluation.backtest.attribution import factor_before
from tradingbot.evaluation.backtest.baselines import own_strategy, warm_up_bars
from tradingbot.evaluation.performance.table import write_interval
from tradingbot.evaluation.pipeline.backtest_figures import BacktestFigures, figures_of
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.facade.backtest_terms import choose_period, read_costs
from tradingbot.facade.bars import Bars
from tradingbot.facade.data import TradedData, as_bars, as_traded
from tradingbot.facade.picture import draw_backtests
from tradingbot.facade.policy import LoadedPolicy
from tradingbot.features.panel import Panel
from tradingbot.market.costs import CostProfile
from tradingbot.plugins.reference import declared_as

PolicyLike = str | LoadedPolicy | Callable[..., Any]
"""Name of a rule or declared strategy (`sma_cross:fast=20,slow=100`), a strategy function, class or
instance, or what `load_policy` returned."""


@dataclass(frozen=True, eq=False, repr=False)
class BacktestResult:
    """What a policy did, net of costs; one account per symbol, all of them together.

    Annual figures use the bars per year of the exchange's calendar; intervals are 95 %,
    stationary bootstrap.
    """

    played: Backtest
    """Every number of every account: equity, positions, turnover, costs, actions, trades."""
    figures: BacktestFigures
    against: tuple[BacktestResult, ...] = ()
    """The same bars traded by others."""

    @property
    def policy(self) -> str:
        """Its name."""
        return self.figures.performance.policy

    @property
    def sharpe(self) -> Interval:
        """Annual Sharpe ratio with the ends of its interval: (estimate, low, high)."""
        return self.figures.performance.sharpe_annual

    @property
    def total_return(self) -> float:
        """Worth at the end ÷ at the start, less 1."""
        return self.figures.performance.total_return_frac

    @property
    def max_drawdown(self) -> float:
        """Largest fall from a peak, as a fraction of it."""
        return self.figures.performance.max_drawdown_frac

    @property
    def equity(self) -> NDArray[np.float64]:
        """(S + 1,) worth of all accounts together, 1 at the start."""
        return self.played.portfolio

    @property
    def trades(self) -> pl.DataFrame:
        """One row per trade; money in account currency, times UTC."""
        trades = self.played.trades
        reasons = [ExitReason(int(code)).name.lower() for code in trades.reason]
        kept = ("bars", "units", "entry_price", "exit_price", "pnl_ccy", "is_open")
        return pl.DataFrame(
            {
                "symbol": [self.played.traded[place] for place in trades.symbol],
                "side": trades.side,
                "entered_at": trades.entered_at.astype("datetime64[us]"),
                "exited_at": trades.exited_at.astype("datetime64[us]"),
                **{name: getattr(trades, name) for name in kept},
                "ended_by": ["policy" if reason == "none" else reason for reason in reasons],
            }
        )

    def summary(self) -> str:
        """Return a table: this policy first, then those it is compared with."""
        return summary_table((self, *self.against))

    def plot(self, path: str | Path) -> Path:
        """Draw equity and drawdown, this policy first; a .png, a .svg, or a page (.html).

        Raises:
            ConfigError: If the ending is another.
            MissingExtraError: If what draws is not installed.
        """
        each = (self, *self.against)
        figures = [one.figures for one in each]
        return draw_backtests(
            [one.played for one in each],
            [one.performance for one in figures],
            Path(path),
            figures[0].terms,
        )

    def __repr__(self) -> str:
        word = ", synthetic" if self.played.synthetic else ""
        figures = self.figures
        return (
            f"<Backtest {self.policy}: Sharpe {write_interval(self.sharpe)}, return "
            f"{self.total_return:+.1%}, {figures.bars:,} bars × {figures.symbols} symbols, "
            f"{figures.first_day} … {figures.last_day}{word}>"
        )


def backtest(  # noqa: PLR0913 - what identifies a backtest, by name
    policy: PolicyLike,
    bars: Bars | World | str | Path | Any,
    *,
    costs: str | float | CostProfile = "alpaca",
    delay_bars: int = 0,
    start: str | date | None = None,
    end: str | date | None = None,
    allow_short: bool = False,
    against: Sequence[PolicyLike] = (),
    seed: int = 0,
    factor: str = EQUAL_WEIGHT,
) -> BacktestResult:
    """Let a policy trade every symbol of some bars, each with an account of its own.

    Decisions are made at the close of a bar and executed at the next open. All policies trade the
    same bars, from the first at which each has the past it needs: a rule of prices loses no bar to
    features that it does not read.

    Args:
        policy: Name of a rule or declared strategy, with parameters where some are set; a strategy
            function or class of your own (see `tb.strategy`); or what `tb.load_policy` returned.
        bars: What `tb.load_bars` returned, or anything it reads; or a world of `tradingbot.envs`.
        costs: Profile (free, alpaca, retail, impact), basis points of each fill, or rates.
        delay_bars: Bars that decisions wait beyond the next open.
        start: First day; the first there is by default.
        end: Last day, included.
        allow_short: Targets below 0 are sold short; else they mean flat.
        against: Policies to compare with.
        seed: Root of what `random` draws.
        factor: The market that results are taken apart by: `equal_weight` of the other symbols, one
            of the symbols, or `none`; betas are of the bars before the period.

    Raises:
        ConfigError: If a name or parameter is unknown, or a strategy fails.
        DataError: If there are too few bars, or a strategy looks ahead.

    Example:
        >>> import tradingbot as tb
        >>> bars = tb.generate_bars("regimes", symbols=["SPY"], timeframe="1d")  # synthetic
        >>> result = tb.backtest("sma_cross:fast=10,slow=40", bars, costs=5.0)
        >>> result.sharpe.low < result.sharpe.estimate < result.sharpe.high
        True
    """
    data, policies = as_traded(bars), (policy, *against)
    asked = [_prepare(each, data, seed) for each in policies]
    world = _world_for(policies, asked, data, bars)
    require_factor(factor, world.symbols)
    period = choose_period(world, start, end, max(each.warm_up or 0 for each in asked))
    rules = sleeve_config(read_costs(costs), allow_short=allow_short)
    span = _Span(world, period, delay_bars, data.bars_per_year)
    names = _unique([_name_of(each) for each in policies])
    played = [_play(each, name, span, rules) for name, each in zip(names, asked, strict=True)]
    market = factor_before(world, world.closed_at[period.start], factor)
    played = [replace(each, time_zone=data.time_zone) for each in played]
    first, *others = [BacktestResult(each, figures_of(each, market)) for each in played]
    return replace(first, against=tuple(others))


def _world_for(
    policies: Sequence[PolicyLike], asked: Sequence[_Asked], data: TradedData, bars: Any
) -> World:
    """Return bars for the policies with the largest needs: trained agents, then features."""
    trained = [each for each in policies if isinstance(each, LoadedPolicy)]
    if trained:
        return trained[0].world_of(bars if isinstance(bars, Panel | World) else as_bars(bars))
    return data.with_features() if any(each.warm_up is None for each in asked) else data.prices


@dataclass(frozen=True, eq=False)
class _Asked:
    """A policy before it is made for a world."""

    make: Callable[[World], Policy]
    warm_up: int | None
    """Bars before its first decision; None: it reads features."""
    rules: EnvConfig | None = None
    """Rules of its own, where it was trained with some."""
    portfolio: LoadedPolicy | None = None
    """A master and its agents, which trade in one account."""


@dataclass(frozen=True, eq=False)
class _Span:
    """What all policies of a backtest trade."""

    world: World
    period: IndexRange
    delay_bars: int
    bars_per_year: float


def _play(asked: _Asked, name: str, span: _Span, rules: EnvConfig) -> Backtest:
    """Let a policy trade: a portfolio in its one account, others in one for each symbol."""
    if asked.portfolio is not None:
        under_test = PolicyUnderTest(name, ChainPolicy(), rules.costs, span.delay_bars)
        return asked.portfolio.play(span.world, span.period, under_test, span.bars_per_year)
    return backtest_one(
        span.world,
        rules if asked.rules is None else replace(asked.rules, costs=rules.costs),
        asked.make(span.world),
        name=name,
        bars_per_year=span.bars_per_year,
        bars=span.period,
        delay_bars=span.delay_bars,
    )


def _prepare(policy: PolicyLike, data: TradedData, seed: int) -> _Asked:
    if isinstance(policy, LoadedPolicy):
        portfolio = None if policy.chain is None else policy
        return _Asked(policy.on, None, policy.rules, portfolio)
    if isinstance(policy, MarketRule):
        return _Asked(lambda _: policy, 0)
    if isinstance(policy, str):
        name = policy
        return _Asked(
            lambda world: baseline(name, world, seed=seed, scaled=data.with_features),
            warm_up_bars(name),
        )
    strategy = declared_as(policy)
    return _Asked(
        lambda world: own_strategy(strategy, world, data.with_features), strategy.warm_up()
    )


def _name_of(policy: PolicyLike) -> str:
    if isinstance(policy, str):
        return policy
    if isinstance(policy, LoadedPolicy):
        return policy.name
    return getattr(policy, "__name__", type(policy).__name__)


def _unique(names: list[str]) -> list[str]:
    return [
        name if names.index(name) == place else f"{name} {place + 1}"
        for place, name in enumerate(names)
    ]


def summary_table(results: Sequence[BacktestResult]) -> str:
    """Write results as lines of text, the first one on top."""
    first = results[0].figures
    header = ("policy", "Sharpe [95 %]", "return", "drawdown", "turnover/bar", "trades", "costs")
    rows = [
        (
            each.policy,
            write_interval(each.sharpe),
            f"{each.total_return:+.1%}",
            f"{each.max_drawdown:.1%}",
            f"{each.figures.performance.turnover_per_bar_frac:.2%}",
            f"{each.figures.performance.n_trades:,}",
            _share(each.figures.performance.cost_share_frac),
        )
        for each in results
    ]
    widths = [max(len(row[k]) for row in (header, *rows)) for k in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (header, *rows)
    ]
    note = "trades: closed round trips; costs: of the result before costs"
    scope = f"{first.label}; {first.bars:,} bars × {first.symbols} symbols"
    return "\n".join([*lines, f"{scope}; {note}"])


def _share(number: float) -> str:
    return "–" if number != number else f"{number:.0%}"
