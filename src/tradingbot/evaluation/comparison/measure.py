"""Compares runs: each trades its own test part; differences are of bars that both traded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.domain.action import Action
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.population.layout import action_spec
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun, open_evaluated_run
from tradingbot.evaluation.analyses.policy_analysis.measure import action_histogram
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.backtest.attribution import attribute_backtest
from tradingbot.evaluation.comparison.record import (
    AgentRow,
    Behaviour,
    ComparedRun,
    DifferingRow,
    RunComparison,
    RunDifference,
)
from tradingbot.evaluation.metrics import trading
from tradingbot.evaluation.metrics.periods import days_and_months
from tradingbot.evaluation.metrics.returns import wealth_of
from tradingbot.evaluation.performance.measure import (
    action_histograms,
    policy_performance,
    require_finite,
)
from tradingbot.evaluation.performance.tear_sheet.measure import exposure_course, thinned_ends
from tradingbot.evaluation.performance.tear_sheet.trades import holding_times
from tradingbot.evaluation.pipeline.test_access import count_test_access, run_access
from tradingbot.evaluation.statistics.bootstrap import MIN_BARS
from tradingbot.evaluation.statistics.inputs import FloatArray, IntArray
from tradingbot.evaluation.statistics.policy_intervals import (
    interval_of,
    net_bps_interval,
    sharpe_difference,
)
from tradingbot.learning.task import ActionSpec
from tradingbot.networks.threads import torch_threads
from tradingbot.runs.comparison import differing_facts, differing_settings
from tradingbot.training.result_file import read_result
from tradingbot.training.trial_ledger import require_counted


@dataclass(frozen=True, eq=False)
class _Traded:
    """A run and what it did on its test part."""

    subject: EvaluatedRun
    played: Backtest
    alpha: FloatArray
    """(S,) mean of the accounts."""

    @property
    def name(self) -> str:
        return self.subject.run.id


def compare_runs(
    references: Sequence[str], workspace: Path, *, progress: Progress = ignore_progress
) -> RunComparison:
    """Put runs side by side; looks at their test bars are counted in the ledger.

    Args:
        references: Two runs or more: ids, beginnings of them, or folders. The first is what the
            others are compared with.
        workspace: Where runs and data are.
        progress: Told (runs finished, runs in all, what is done now).

    Raises:
        ConfigError: If there are fewer than two, one is named twice, or one is not finished.
        UserError: If a run or its data cannot be opened.
    """
    if len(references) < 2:
        rule = "a comparison must have two runs or more"
        raise ConfigError(rule, was=len(references), remedy="Name another run")
    traded = []
    for number, reference in enumerate(references):
        progress(number, len(references), f"backtest of {reference}")
        traded.append(_trade(reference, workspace))
    progress(len(references), len(references), "differences")
    names = [each.name for each in traded]
    if len(set(names)) < len(names):
        raise ConfigError("runs must differ", was=", ".join(names), remedy="Name each once")
    paired, unpaired = _differences(traded)
    days, equity = _shared_equity(traded)
    runs = [each.subject.run for each in traded]
    return RunComparison(
        runs=tuple(_compared(each) for each in traded),
        config=_rows(differing_settings([run.record.config for run in runs])),
        facts=_rows(differing_facts(runs)),
        differences=tuple(paired),
        unpaired=tuple(unpaired),
        agents=_agents(traded),
        bars_per_year=traded[0].played.bars_per_year,
        days=days,
        equity=equity,
    )


def common_bars(first: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[IntArray, IntArray]:
    """Return the places of bars that two clocks share: both ends of the bar are the same.

    Args:
        first: (S + 1,) closes: the start, then the end of every bar.
        other: (R + 1,) the same of the other.

    Returns:
        Places among the bars 0 … S − 1 and 0 … R − 1, in the order of time.
    """
    _, mine, theirs = np.intersect1d(first[1:], other[1:], return_indices=True)
    same = first[mine] == other[theirs]
    return mine[same], theirs[same]


def _trade(reference: str, workspace: Path) -> _Traded:
    with torch_threads(1):  # a few hundred lanes are too few to share out
        subject = open_evaluated_run(reference, workspace)
        require_counted(subject.run, workspace)
        played = require_finite(subject.backtest("test"))
    count_test_access([run_access(subject, subject.bars("test"), played.costs, played.delay_bars)])
    alpha = attribute_backtest(played, subject.data.factor).alpha.mean(axis=1)
    return _Traded(subject, played, alpha)


def _compared(each: _Traded) -> ComparedRun:
    subject, played = each.subject, each.played
    parts, identity = attribute_backtest(played, subject.data.factor), subject.data.identity
    days = days_and_months(played.closed_at)[0]
    return ComparedRun(
        run=each.name,
        label=identity.label,
        synthetic=identity.synthetic,
        data_sha256=identity.data_sha256,
        costs_bps=1e4 * played.costs.one_way_frac,
        agents=len(played.symbols),
        trading_agents=len(read_result(subject.run.path).trading_agents),
        first_day=str(days[0]),
        last_day=str(days[-1]),
        bars=played.n_bars,
        performance=policy_performance(played, "agents", parts=parts),
        behaviour=_behaviour(played, action_spec(subject.env.rules)),
    )


def _behaviour(played: Backtest, action: ActionSpec) -> Behaviour:
    shares = action_histograms(played, action)
    codes = [code.name for code in Action]
    bins, together = action_histogram(played.action, action, codes, n_bins=shares.shape[1])
    held = (trading.time_in_market(column) for column in played.position_frac.T)
    return Behaviour(
        bins=bins,
        histogram=together,
        entropy=float(np.mean([trading.action_entropy(row) for row in shares])),
        time_in_market_frac=float(np.mean(list(held))),
        holding=holding_times(played.trades),
        exposure=exposure_course(played),
    )


def _differences(
    traded: Sequence[_Traded],
) -> tuple[list[RunDifference], list[tuple[str, str]]]:
    first, *others = traded
    paired, unpaired = [], []
    for each in others:
        mine, theirs = common_bars(each.played.closed_at, first.played.closed_at)
        if len(mine) < MIN_BARS:
            why = f"{len(mine)} bars are shared with {first.name}; an interval needs {MIN_BARS}"
            unpaired.append((each.name, why))
        else:
            paired.append(_difference(each, first, mine, theirs))
    return paired, unpaired


def _difference(each: _Traded, first: _Traded, mine: IntArray, theirs: IntArray) -> RunDifference:
    a, b = each.played, first.played
    own, other = a.portfolio_returns[mine], b.portfolio_returns[theirs]
    days = days_and_months(a.closed_at[1:][mine])[0]
    moves = own.std() > 0.0 and other.std() > 0.0

    def less(quantity: str) -> FloatArray:
        over = (np.abs(getattr(a, quantity)), np.abs(getattr(b, quantity)))
        return np.asarray(over[0].mean(axis=1)[mine] - over[1].mean(axis=1)[theirs])

    return RunDifference(
        run=each.name,
        bars=len(mine),
        first_day=str(days[0]),
        last_day=str(days[-1]),
        net_bps_per_bar=net_bps_interval(
            a.returns.mean(axis=1)[mine] - b.returns.mean(axis=1)[theirs]
        ),
        alpha_bps_per_bar=net_bps_interval(each.alpha[mine] - first.alpha[theirs]),
        sharpe_annual=sharpe_difference(own, other, b.bars_per_year),
        turnover_per_bar_frac=interval_of(less("turnover_frac")),
        exposure_frac=interval_of(less("position_frac")),
        correlation=float(np.corrcoef(own, other)[0, 1]) if moves else math.nan,
        caveats=tuple(_caveats(each, first, len(mine))),
    )


def _caveats(each: _Traded, first: _Traded, n_shared: int) -> list[str]:
    """Say what else the difference is a difference of."""
    a, b = each.played, first.played
    found = []
    if n_shared < a.n_bars or n_shared < b.n_bars:
        found.append(
            f"bars differ: {n_shared:,} are shared, of {a.n_bars:,} and {b.n_bars:,}; the rest is "
            "left out of the difference"
        )
    if a.traded != b.traded:
        shared = len({*a.traded} & {*b.traded})
        found.append(
            f"symbols differ: {len(a.traded)} and {len(b.traded)}, {shared} of them the same"
        )
    by_bars = bool(a.held or b.held)
    if bool(a.held) != bool(b.held):
        found.append("accounts differ: one of all symbols and one for each, equally weighed")
    if _data(each, by_bars=by_bars) != _data(first, by_bars=by_bars):
        found.append("data differ: this is the difference of run and data together")
    if a.costs != b.costs:
        found.append(
            f"costs differ: {1e4 * a.costs.one_way_frac:.1f} and "
            f"{1e4 * b.costs.one_way_frac:.1f} bp of each fill"
        )
    return found


def _data(each: _Traded, *, by_bars: bool) -> tuple[object, ...]:
    """Return what tells data apart; those of a portfolio also name the agents of its sleeves."""
    identity = each.subject.data.identity
    if by_bars and identity.dataset_sha256 is not None:
        return (identity.dataset_sha256, identity.feature_ids)
    return (identity.data_sha256,)


def _shared_equity(
    traded: Sequence[_Traded],
) -> tuple[tuple[str, ...], tuple[tuple[float, ...], ...]]:
    """Return worths of all runs over the bars that all traded, at last bars of days."""
    clocks = [each.played.closed_at for each in traded]
    shared = reduce(
        lambda known, clock: known[np.isin(known, clock[1:][common_bars(clock, clocks[0])[0]])],
        clocks,
        clocks[0][1:],
    )
    if len(shared) < MIN_BARS:
        return (), ()
    days = days_and_months(shared)[0]
    ends = thinned_ends(days)
    worths = [
        wealth_of(each.played.portfolio_returns[np.searchsorted(clock[1:], shared)])[1:][ends]
        for each, clock in zip(traded, clocks, strict=True)
    ]
    return tuple(str(day) for day in days[ends]), tuple(tuple(each.tolist()) for each in worths)


def _agents(traded: Sequence[_Traded]) -> tuple[AgentRow, ...]:
    ends = [
        dict(zip(each.played.symbols, (each.played.equity[-1] - 1.0).tolist(), strict=True))
        for each in traded
    ]
    names = dict.fromkeys(symbol for each in ends for symbol in each)
    return tuple(AgentRow(name, tuple(each.get(name, math.nan) for each in ends)) for name in names)


def _rows(found: Sequence[tuple[str, tuple[object, ...]]]) -> tuple[DifferingRow, ...]:
    return tuple(DifferingRow(name, tuple(map(_words, values))) for name, values in found)


def _words(value: object) -> str:
    return "none" if value is None else str(value)
