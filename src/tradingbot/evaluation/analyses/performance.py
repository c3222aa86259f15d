"""How the run did on validation and test, beside baselines, classifiers and the oracle."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice

import numpy as np

from tradingbot.agents.baselines.probability_threshold import THRESHOLDS, UP, relative_thresholds
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.extension import extensions
from tradingbot.envs.population.layout import action_spec
from tradingbot.evaluation.analyses.allocation_figures import measure_allocation
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun, Part
from tradingbot.evaluation.analyses.portfolio_run import PortfolioRun
from tradingbot.evaluation.analyses.probability_thresholds import threshold_policies
from tradingbot.evaluation.analyses.settings import PerformanceSettings
from tradingbot.evaluation.backtest import Backtest, PolicyUnderTest
from tradingbot.evaluation.backtest.attribution import attribute_backtest
from tradingbot.evaluation.backtest.baselines import baseline, is_silent, random_like
from tradingbot.evaluation.backtest.portfolios import pool_accounts
from tradingbot.evaluation.dossier.allocation import Allocation
from tradingbot.evaluation.performance.measure import (
    PlayedPolicy,
    action_histograms,
    part_performance,
    require_finite,
)
from tradingbot.evaluation.performance.record import (
    AGENTS,
    HOLD,
    MATCHED_RANDOM,
    PartPerformance,
    PolicyKind,
)
from tradingbot.evaluation.performance.tear_sheet.measure import Reference, tear_sheet_of
from tradingbot.evaluation.performance.tear_sheet.record import TearSheet
from tradingbot.evaluation.statistics import bootstrap, superior
from tradingbot.supervised.model_names import split_models
from tradingbot.training.data import REFERENCE_INDEX
from tradingbot.training.opponents import (
    backtest_index,
    backtest_opponents,
    holding,
    oracle_under_test,
)
from tradingbot.training.result_file import read_result

PARTS: tuple[Part, ...] = ("validation", "test")
BASELINES = ("momentum", "macd", "sma_cross", "expert", "random", "flat")
"""Rules that agents are compared with, where the data are long enough for them."""


_FEWEST_STEPS: tuple[tuple[Part, int], ...] = (
    ("validation", bootstrap.MIN_BARS),
    ("test", superior.MIN_BARS),
)
"""Bars that intervals of every part need, and tests against baselines."""


@dataclass(frozen=True)
class Series:
    """Returns per bar of one policy on the test part."""

    policy: str
    kind: PolicyKind
    portfolio: tuple[float, ...]
    """(S,) of all sleeves together."""
    sleeves: tuple[float, ...]
    """(S,) mean of the sleeves."""
    alpha: tuple[float, ...]
    """(S,) what of it is alpha."""


@dataclass(frozen=True)
class Performance:
    """Figures of every part, and what statistics are made from."""

    parts: tuple[PartPerformance, ...]
    test_series: tuple[Series, ...]
    """Of the policies of the test part, in their order."""
    tear_sheet: TearSheet
    """Of the agents on the test part."""
    allocation: Allocation | None = None
    """How a master divided capital there; None where each agent has an account of its own."""

    def series(self, policy: str) -> Series:
        """Return the returns of a policy."""
        return next(each for each in self.test_series if each.policy == policy)


def require_judgeable(subject: EvaluatedRun) -> None:
    """Refuse a run whose parts are too short for the required analyses, or whose result is gone.

    Raises:
        DataError: If validation or test hold too few usable bars.
        StorageError: If the result of the run cannot be read.
    """
    for part, least in _FEWEST_STEPS:
        steps = len(subject.bars(part)) - 1
        if steps < least:
            raise DataError(
                f"{part} must have {least + 1} usable bars or more to be judged",
                was=steps + 1,
                where=subject.data.identity.label,
                remedy="Train on more bars, or give the part a larger share in splits",
            )
    read_result(subject.run.path)


def measure_performance(inputs: AnalysisInputs, settings: PerformanceSettings) -> Performance:
    """Backtest everything on validation and test."""
    subject, figures, last = inputs.subject, list[PartPerformance](), list[PlayedPolicy]()
    for number, part in enumerate(PARTS):
        inputs.progress(number, len(PARTS), f"backtests of {part}")
        last = _play_all(subject, part, settings)
        is_indexed = any(each.backtest.policy == REFERENCE_INDEX for each in last)
        played = part_performance(
            part,
            last,
            action_histograms(last[0].backtest, action_spec(subject.env.rules)),
            read_result(subject.run.path).trading_agents,
            factor=subject.data.factor,
            reference=REFERENCE_INDEX if is_indexed else HOLD,
            share_draws=settings.draws,
        )
        figures.append(played)
    series = tuple(
        Series(
            each.backtest.policy,
            each.kind,
            tuple(each.backtest.portfolio_returns.tolist()),
            tuple(each.backtest.returns.mean(axis=1).tolist()),
            _alpha_of(each.backtest, subject),
        )
        for each in last
    )
    name = figures[-1].reference
    market = next(each.backtest for each in last if each.backtest.policy == name)
    against = Reference(name, market.portfolio_returns)
    sheet = tear_sheet_of(last[0].backtest, against)
    divided = None
    if isinstance(subject, PortfolioRun):
        agents, *others = (each.backtest for each in last)
        divided = measure_allocation(subject, agents, others, subject.data.factor)
    return Performance(tuple(figures), series, sheet, divided)


def _alpha_of(played: Backtest, subject: EvaluatedRun) -> tuple[float, ...]:
    parts = attribute_backtest(played, subject.data.factor)
    return tuple(parts.alpha.mean(axis=1).tolist())


def _play_all(
    subject: EvaluatedRun, part: Part, settings: PerformanceSettings
) -> list[PlayedPolicy]:
    data, env, bars = subject.data, subject.env, subject.bars(part)
    agents = require_finite(subject.backtest(part))
    is_portfolio = isinstance(subject, PortfolioRun)
    asked: dict[PolicyKind, list[PolicyUnderTest]] = {
        "baseline": [holding(), *_rules(subject, bars, settings.seed)],
        "supervised": _supervised(subject),
        "oracle": oracle_under_test(data, env),
    }
    if not is_portfolio:
        asked["baseline"].append(_as_much_at_random(subject, agents, settings.seed))
    played = iter(backtest_opponents(data, env, bars, [*chain(*asked.values())]))
    found = {kind: [*islice(played, len(policies))] for kind, policies in asked.items()}
    if not data.whole.synthetic:  # a generated index is no index
        found["baseline"] += backtest_index(data, env, bars)
    if isinstance(subject, PortfolioRun):
        found = {kind: [*map(pool_accounts, each)] for kind, each in found.items()}
        found["baseline"] += subject.backtest_allocations(part)
    opponents = [PlayedPolicy(kind, require_finite(each)) for kind in found for each in found[kind]]
    return [PlayedPolicy("agents", replace(agents, policy=AGENTS)), *opponents]


def _rules(subject: EvaluatedRun, bars: IndexRange, seed: int) -> list[PolicyUnderTest]:
    """Return rules that know nothing of the run.

    A rule that would be flat for lack of bars is no rule beside `flat`: the header says so.
    """
    world, found = subject.data.world, list[PolicyUnderTest]()
    for name in (*BASELINES, *extensions("baseline")):
        if is_silent(name, bars):
            continue
        with suppress(ConfigError):  # a rule that reads a regime which these data do not show
            found.append(PolicyUnderTest(name, baseline(name, world, seed=seed)))
    return found


def _as_much_at_random(subject: EvaluatedRun, agents: Backtest, seed: int) -> PolicyUnderTest:
    """Return a policy that trades each account as much as its agent does, at random."""
    share = subject.env.rules.limits.max_position_frac
    like = random_like(agents, subject.data.world, seed=seed, max_position_frac=share)
    return PolicyUnderTest(MATCHED_RANDOM, like)


def _supervised(subject: EvaluatedRun) -> list[PolicyUnderTest]:
    """Return what the probabilities that agents see would earn by themselves."""
    chances = subject.data.world.probabilities
    if (chances == chances[0, 0, 0]).all():  # no model: a third each
        return []
    world, train = subject.data.world, subject.data.split.train
    if len(split_models(subject.config.task.probabilities)) > 1:  # what three say of a rise
        rise = chances.mean(axis=-1)
        chances = np.stack([1.0 - rise, np.zeros_like(rise), rise], axis=-1)
        world = replace(world, probabilities=chances)
    learned = slice(train.start, train.stop)
    base_rate = float(chances[:, learned, UP][world.usable[:, learned]].mean())
    return threshold_policies(world, (*relative_thresholds(base_rate), *THRESHOLDS))
