"""Backtests for the command line: runs and rules beside each other on one period, with figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Literal

import numpy as np

from tradingbot.configuration.pipeline import SplitsConfig
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.splits import IndexRange
from tradingbot.domain.denial import ExitReason
from tradingbot.envs.world import World
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun, open_evaluated_run
from tradingbot.evaluation.backtest import (
    Backtest,
    PolicyUnderTest,
    Trades,
    backtest_all,
    bars_between,
    ready_bars,
    sleeve_config,
)
from tradingbot.evaluation.market_rollouts import RolloutMarket as Market
from tradingbot.evaluation.market_rollouts import named_policy, read_prices_alone, warm_up_of
from tradingbot.evaluation.performance.measure import policy_performance
from tradingbot.evaluation.performance.record import PolicyKind, PolicyPerformance
from tradingbot.evaluation.pipeline.test_access import TestSetAccess
from tradingbot.evaluation.policy_names import is_run, require_known_policies, runs_among
from tradingbot.evaluation.tables import inert_cell
from tradingbot.features.pipeline import split_rows
from tradingbot.market.costs import CostProfile
from tradingbot.networks.threads import torch_threads
from tradingbot.plugins.reference import ORACLE_NAMES, strategy_origin
from tradingbot.training.session import RUNS_FOLDER
from tradingbot.training.trial_ledger import require_counted

Part = Literal["train", "validation", "test"]
_USES = {
    "learned": " (in sample: learned from these bars)",
    "chosen": " (chosen on these bars)",
    "earlier": " (learned from later bars)",
    "none": "",
}
"""How the name of a run ends, by what it has used the bars for."""
_TRADE_NUMBERS = (
    *("units", "entry_price", "exit_price", "commission_ccy", "slippage_ccy", "pnl_ccy"),
)
_TRADE_COLUMNS = (
    *("policy", "symbol", "side", "entered_at", "exited_at", "bars"),
    *(*_TRADE_NUMBERS, "is_open", "ended_by"),
)


@dataclass(frozen=True)
class BacktestTerms:
    """What is asked of a backtest."""

    part: Part | None = None
    """Of a run's split; for rules alone of the split that `tradingbot data split` shows. Without a
    part or days a run trades its test part, rules alone all bars."""
    start: date | None = None
    end: date | None = None
    """Last day, included."""
    costs: CostProfile | None = None
    """Those of the run, or the usual ones, by default."""
    cost_bps: float | None = None
    """Cost of each fill in basis points, instead of commission, slippage and spread."""
    delay_bars: int = 0
    seed: int = 0
    """Of policies that draw."""

    def priced(self, usual: CostProfile) -> CostProfile:
        """Return the costs to charge where `usual` ones would be."""
        costs = self.costs or usual
        if self.cost_bps is None:
            return costs
        return replace(
            costs, commission_frac=self.cost_bps / 1e4, slippage_frac=0.0, spread_frac=0.0
        )


@dataclass(frozen=True, eq=False)
class NamedBacktests:
    """What was traded."""

    backtests: tuple[Backtest, ...]
    """One per name."""
    accesses: tuple[TestSetAccess, ...]
    """At test bars; to be counted by `test_access` before a figure is shown."""


@dataclass(frozen=True)
class BacktestFigures:
    """One policy over one period, net of costs, and what the figures hold for."""

    label: str
    synthetic: bool
    first_day: str
    last_day: str
    bars: int
    symbols: int
    costs: CostProfile
    delay_bars: int
    bars_per_year: float
    performance: PolicyPerformance
    plugin: str | None = None
    """Plugin that the policy's code is in, with the first digits of its hash."""

    @property
    def terms(self) -> str:
        """What the figures hold for, in words."""
        return (
            f"{self.label}; {self.bars:,} bars × {self.symbols} symbols; "
            f"{1e4 * self.costs.one_way_frac:.1f} bp of each fill; delay {self.delay_bars}."
        )


def backtest_named(
    names: Sequence[str],
    workspace: Path,
    terms: BacktestTerms,
    *,
    market: Market | None = None,
    progress: Progress = ignore_progress,
) -> NamedBacktests:
    """Backtest runs and rules by name; looks of runs at their test bars are still to be counted.

    Args:
        names: Runs (id, its beginning, or folder) and rules.
        workspace: Where runs and their data are.
        terms: Period, costs, delay.
        market: What rules trade on; without one, the data of the first run.
        progress: Told how far it is.

    Raises:
        ConfigError: If a name is neither, or a run is asked to trade another market than its own.
        DataError: If the period has too few bars.
        StorageError: If a run is damaged, its training is not in the ledger, or the ledger is not
            whole.
    """
    require_known_policies(names, workspace / RUNS_FOLDER, has_market=market is not None)
    subjects = {name: open_evaluated_run(name, workspace) for name in runs_among(names)}
    for subject in subjects.values():
        require_counted(subject.run, workspace)
    found, accesses = list[Backtest](), list[TestSetAccess]()
    first = next(iter(subjects.values()), None)
    place = market or _market_of(first)
    rules = sleeve_config(terms.priced(first.env.costs if first else CostProfile()))
    with torch_threads(1):  # a few hundred lanes are too few to share out
        for name in names:
            if name not in subjects:
                policy = named_policy(name, place, rules.costs, seed=terms.seed)
                found += backtest_all(
                    place.world,
                    rules,
                    [PolicyUnderTest(name, policy, delay_bars=terms.delay_bars)],
                    bars_per_year=place.bars_per_year,
                    bars=_rule_bars(place.world, terms, names, first),
                    progress=progress,
                )
                continue
            subject = subjects[name]
            bars, costs = _bars(subject.data.world, terms, subject), terms.priced(subject.env.costs)
            played = subject.backtest(
                bars, costs=costs, delay_bars=terms.delay_bars, progress=progress
            )
            used = _USES[subject.data.split.use_of(bars)]
            found.append(replace(played, policy=f"{played.policy}{used}"))
            if bars.stop > subject.data.split.test.start:
                accesses.append(TestSetAccess(subject, bars, costs, terms.delay_bars))
    return NamedBacktests(tuple(found), tuple(accesses))


def figures_of(played: Backtest) -> BacktestFigures:
    """Measure a backtest.

    Raises:
        DataError: If there are fewer than eight bars: nothing to draw histories from.
    """
    kind: PolicyKind = "agents" if is_run(played.policy) else "baseline"
    kind = "oracle" if played.policy in ORACLE_NAMES else kind
    return BacktestFigures(
        label=played.label,
        synthetic=played.synthetic,
        first_day=played.first_day,
        last_day=played.last_day,
        bars=played.n_bars,
        symbols=len(played.symbols),
        costs=played.costs,
        delay_bars=played.delay_bars,
        bars_per_year=played.bars_per_year,
        performance=policy_performance(played, kind),
        plugin=origin.id if (origin := strategy_origin(played.policy)) else None,
    )


def trades_csv(backtests: Sequence[Backtest]) -> str:
    """Write every trade of every policy as CSV; money in account currency, times UTC with a Z."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_TRADE_COLUMNS)
    for played in backtests:
        trades = played.trades
        entered, left = (
            np.datetime_as_string(stamps.astype("datetime64[us]"), unit="s", timezone="UTC")
            for stamps in (trades.entered_at, trades.exited_at)
        )
        for place in range(len(trades)):
            writer.writerow(
                [
                    *(inert_cell(played.policy), inert_cell(played.symbols[trades.symbol[place]])),
                    trades.side[place],
                    *(entered[place], left[place], trades.bars[place]),
                    *(f"{getattr(trades, name)[place]:.6f}" for name in _TRADE_NUMBERS),
                    *(int(trades.is_open[place]), _ending(trades, place)),
                ]
            )
    return text.getvalue()


def _ending(trades: Trades, place: int) -> str:
    if trades.is_open[place]:
        return ""
    reason = int(trades.reason[place])
    return ExitReason(reason).name.lower() if reason else "policy"


def _rule_bars(
    world: World, terms: BacktestTerms, names: Sequence[str], subject: EvaluatedRun | None
) -> IndexRange:
    """Return the bars that rules trade: a run's, or all from where each has the past it needs."""
    if subject is not None:
        return _bars(world, terms, subject)
    if not read_prices_alone(names):
        return _bars(world, terms, None)
    bars = _bars(replace(world, usable=world.present), terms, None)
    return IndexRange(min(max(bars.start, warm_up_of(names)), bars.stop - 1), bars.stop)


def _market_of(subject: EvaluatedRun | None) -> Market:
    assert subject is not None  # without a market there is a run
    data = subject.data
    return Market(data.world, data.market, data.bars_per_year)


def _bars(world: World, terms: BacktestTerms, subject: EvaluatedRun | None) -> IndexRange:
    has_days = terms.start is not None or terms.end is not None
    if subject is not None and not has_days:
        return subject.bars(terms.part or "test")
    if terms.part is None or has_days:
        return ready_bars(world, bars_between(world, terms.start, terms.end))
    split = split_rows(world.closed_at.astype("datetime64[us]"), SplitsConfig())
    part: IndexRange = getattr(split, terms.part)
    return ready_bars(world, part)
