"""Backtests for the command line: runs, rules and models on one period, with figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tradingbot.configuration.pipeline import SplitsConfig
from tradingbot.data.calendar import closing_day
from tradingbot.data.factor import EQUAL_WEIGHT, MarketFactor, require_factor
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.splits import IndexRange, Split
from tradingbot.domain.errors import DataError
from tradingbot.envs.world import World
from tradingbot.evaluation.allocation.rules import ALLOCATION_RULES
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun, open_evaluated_run
from tradingbot.evaluation.analyses.portfolio_run import PortfolioRun
from tradingbot.evaluation.backtest import (
    Backtest,
    PolicyUnderTest,
    backtest_all,
    bars_between,
    ready_bars,
    sleeve_config,
)
from tradingbot.evaluation.backtest.attribution import factor_before
from tradingbot.evaluation.backtest.portfolios import pool_accounts
from tradingbot.evaluation.market_rollouts import RolloutMarket as Market
from tradingbot.evaluation.market_rollouts import named_policy, read_prices_alone, warm_up_of
from tradingbot.evaluation.pipeline.backtest_figures import BacktestFigures, figures_of
from tradingbot.evaluation.pipeline.backtest_terms import BacktestTerms
from tradingbot.evaluation.pipeline.model_policy import (
    TradedModel,
    market_of_data,
    open_traded_model,
    own_data,
    require_unseen,
)
from tradingbot.evaluation.pipeline.test_access import TestSetAccess, run_access
from tradingbot.evaluation.policy_names import (
    is_allocation,
    is_model,
    require_known_policies,
    runs_among,
)
from tradingbot.features.pipeline import split_rows
from tradingbot.market.costs import CostProfile
from tradingbot.networks.threads import torch_threads
from tradingbot.plugins.reference import read_reference
from tradingbot.training.session import RUNS_FOLDER
from tradingbot.training.trial_ledger import require_counted

_USES = {
    "learned": " (in sample: learned from these bars)",
    "chosen": " (chosen on these bars)",
    "earlier": " (learned from later bars)",
    "none": "",
}
"""How the name of a run ends, by what it has used the bars for."""


@dataclass(frozen=True, eq=False)
class NamedBacktests:
    """What was traded."""

    backtests: tuple[Backtest, ...]
    """One per name."""
    accesses: tuple[TestSetAccess, ...]
    """At test bars; to be counted by `test_access` before a figure is shown."""
    notes: Mapping[str, str]
    """Policy → what it does and was fitted on, where its name does not say it."""
    factor: MarketFactor
    """The market, with betas of the bars before."""
    begins: str = ""
    """Why they begin later than the day that was asked for; empty where they do not."""

    def figures(self) -> list[BacktestFigures]:
        """Measure all of them.

        Raises:
            DataError: If there are fewer than eight bars: nothing to draw histories from.
        """
        notes = self.notes
        return [
            replace(
                figures_of(played, self.factor),
                note=notes.get(played.policy, ""),
                begins=self.begins,
            )
            for played in self.backtests
        ]


def backtest_named(
    names: Sequence[str],
    workspace: Path,
    terms: BacktestTerms,
    *,
    market: Market | None = None,
    progress: Progress = ignore_progress,
) -> NamedBacktests:
    """Backtest runs, rules and models by name; looks at test bars are still to be counted.

    Args:
        names: Runs (id, its beginning, or folder), rules and supervised models (`model:NAME`);
            beside a portfolio run also `allocation:NAME`, and all of them as one portfolio each.
        workspace: Where runs, models and their data are.
        terms: Period, costs, delay.
        market: What rules and models trade on; without one, the data of the first run, or else
            of the first model.
        progress: Told how far it is.

    Raises:
        ConfigError: If a name is none of these, or a run is asked to trade another market than its
            own.
        DataError: If the period has too few bars, or a model may have been fitted on them.
        StorageError: If a run or model is damaged, a run's training is not in the ledger, or the
            ledger is not whole.
    """
    require_known_policies(names, workspace / RUNS_FOLDER, has_market=market is not None)
    subjects = {name: open_evaluated_run(name, workspace) for name in runs_among(names)}
    for subject in subjects.values():
        require_counted(subject.run, workspace)
    first = next(iter(subjects.values()), None)
    portfolio = next((each for each in subjects.values() if isinstance(each, PortfolioRun)), None)
    place, split = (market, None) if market else _own_market(first, names, workspace)
    own = None
    if first is not None:  # as its training and its dossier take it apart
        own = replace(first.data, factor_name=terms.factor or first.data.factor_name)
    require_factor(terms.factor or EQUAL_WEIGHT, (own.whole if own else place.world).symbols)
    models = {n: open_traded_model(n, workspace, place) for n in names if is_model(n)}
    bars = _rule_bars(place.world, terms, names, split, models.values())
    for model in models.values():
        require_unseen(model, place.world, bars)
    costs = terms.priced(first.env.costs if first else CostProfile())
    rules = sleeve_config(costs, allow_short=terms.allow_short)
    found, accesses, notes = list[Backtest](), list[TestSetAccess | None](), dict[str, str]()
    with torch_threads(1):  # a few hundred lanes are too few to share out
        for name in names:
            if name in subjects:
                played, access = _play_run(subjects[name], terms, progress)
            elif portfolio is not None and is_allocation(name):
                played, access = _play_allocation(name, portfolio, terms), None
            else:
                shown, access = name, None
                if name in models:
                    model = models[name]
                    shown, policy = model.named(bars), model.policy
                    access = model.access(bars, rules.costs, terms.delay_bars, workspace)
                    notes[shown] = f"{model.note}{_silence(model, place.world, bars)}"
                else:
                    policy = named_policy(name, place, rules.costs, seed=terms.seed)
                (played,) = backtest_all(
                    place.world,
                    rules,
                    [PolicyUnderTest(shown, policy, delay_bars=terms.delay_bars)],
                    bars_per_year=place.bars_per_year,
                    bars=bars,
                    progress=progress,
                )
                played = played if portfolio is None else pool_accounts(played)
            found.append(replace(played, time_zone=place.time_zone))
            accesses.append(access)
    _require_same_bars(found)
    counted = tuple(access for access in accesses if access is not None)
    begins = _late_begin(place.world, terms, bars)
    name = terms.factor or EQUAL_WEIGHT
    factor = factor_before(place.world, found[0].closed_at[0], name) if own is None else own.factor
    return NamedBacktests(tuple(found), counted, notes, factor, begins)


def _late_begin(world: World, terms: BacktestTerms, bars: IndexRange) -> str:
    """Say why bars begin later than the day that was asked for; empty where they do not."""
    if terms.start is None:
        return ""
    asked, days = bars_between(world, terms.start, terms.end).start, _days(world)
    reasons = []
    if terms.start < days[0].item():
        reasons.append(f"the data begin on {days[0]}")
    if bars.start > asked:
        count = f"{bars.start - asked:,} bars from {days[asked]} on"
        reasons.append(f"{count} are the past that features, rules or models need first")
    if not reasons:
        return ""
    return f"Begins on {days[bars.start]} instead of {terms.start}: {' and '.join(reasons)}."


def _silence(model: TradedModel, world: World, bars: IndexRange) -> str:
    """Say from when on a model speaks, where the bars begin before."""
    if bars.start >= model.first_bar:
        return ""
    return f" Flat before {_days(world)[min(model.first_bar, bars.stop - 1)]}, its first day."


def _days(world: World) -> NDArray[np.datetime64]:
    return closing_day(world.closed_at.astype("datetime64[us]"))


def _require_same_bars(backtests: Sequence[Backtest]) -> None:
    labels = dict.fromkeys(each.label for each in backtests)
    if len(labels) > 1:
        raise DataError(
            "policies that are compared must trade the same bars",
            was=" and ".join(labels),
            remedy="Backtest them one by one, or give days and data that they share",
        )


def _play_run(
    subject: EvaluatedRun, terms: BacktestTerms, progress: Progress
) -> tuple[Backtest, TestSetAccess | None]:
    split, costs = subject.data.split, terms.priced(subject.env.costs)
    bars = _bars(subject.data.world, terms, split)
    played = subject.backtest(bars, costs=costs, delay_bars=terms.delay_bars, progress=progress)
    shown = replace(played, policy=f"{played.policy}{_USES[split.use_of(bars)]}")
    reaches = bars.stop > split.test.start
    return shown, run_access(subject, bars, costs, terms.delay_bars) if reaches else None


def _play_allocation(name: str, subject: PortfolioRun, terms: BacktestTerms) -> Backtest:
    """Play a rule that divides capital among the sleeves of a portfolio run."""
    rule = read_reference(name).allocation
    own = next(
        each for each in ALLOCATION_RULES if each.replace(" ", "_").replace("-", "_") == rule
    )
    bars = _bars(subject.data.world, terms, subject.data.split)
    costs = terms.priced(subject.env.costs)
    (played,) = subject.backtest_allocations(
        bars, names=[own], costs=costs, delay_bars=terms.delay_bars
    )
    return replace(played, policy=name)


def _rule_bars(
    world: World,
    terms: BacktestTerms,
    names: Sequence[str],
    split: Split | None,
    models: Iterable[TradedModel],
) -> IndexRange:
    """Return the bars that rules and models trade.

    Those of a run or of a model's own data, or all from where each has the past it needs.
    """
    if split is not None:
        return _bars(world, terms, split)
    needed = max((each.first_bar for each in models if each.own_split is not None), default=0)
    if read_prices_alone(names):
        bars = _bars(replace(world, usable=world.present), terms, None)
        needed = max(needed, warm_up_of(names))
    else:
        bars = _bars(world, terms, None)
    return IndexRange(min(max(bars.start, needed), bars.stop - 1), bars.stop)


def _own_market(
    subject: EvaluatedRun | None, names: Sequence[str], workspace: Path
) -> tuple[Market, Split]:
    """Return the data of a run, or else of the first model, and how they were divided."""
    if subject is None:
        return own_data(next(filter(is_model, names)), workspace)
    return market_of_data(subject.data, subject.config, workspace), subject.data.split


def _bars(world: World, terms: BacktestTerms, own: Split | None) -> IndexRange:
    """Return the bars of the days or the part that is asked for, from where they are usable.

    Args:
        world: To be traded.
        terms: With days, or a part.
        own: Split of a run, or of a model on its own data; None where rules trade alone.
    """
    has_days = terms.start is not None or terms.end is not None
    if has_days or (own is None and terms.part is None):
        return ready_bars(world, bars_between(world, terms.start, terms.end))
    split = own or split_rows(world.closed_at.astype("datetime64[us]"), SplitsConfig())
    part: IndexRange = getattr(split, terms.part or "test")
    return ready_bars(world, part)
