"""How the run did on validation and test, beside baselines, classifiers and the oracle."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import torch

from tradingbot.agents.baselines.probability_threshold import THRESHOLDS, ProbabilityThreshold
from tradingbot.data.splits import IndexRange
from tradingbot.domain.checks import require, require_kinds
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.extension import extensions
from tradingbot.envs.population.layout import action_spec
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun, Part
from tradingbot.evaluation.backtest import Backtest, PolicyUnderTest
from tradingbot.evaluation.backtest.baselines import baseline, is_silent, random_like
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


@dataclass(frozen=True)
class PerformanceSettings:
    """How sure the share of the oracle is to be, and what random baselines draw.

    Intervals of policies cannot be set: one policy has one interval.
    """

    draws: int = 2000
    """Resampled histories of the share of the oracle."""
    seed: int = 0
    """Root of what random baselines draw."""

    def __post_init__(self) -> None:
        """Refuse intervals of too few draws."""
        require_kinds(self)
        require(self.draws >= 100, "draws must be 100 or more", self)
        require(self.seed >= 0, "seed must be 0 or more", self)


@dataclass(frozen=True)
class Series:
    """Returns per bar of one policy on the test part."""

    policy: str
    kind: PolicyKind
    portfolio: tuple[float, ...]
    """(S,) of all sleeves together."""
    sleeves: tuple[float, ...]
    """(S,) mean of the sleeves."""


@dataclass(frozen=True)
class Performance:
    """Figures of every part, and what statistics are made from."""

    parts: tuple[PartPerformance, ...]
    test_series: tuple[Series, ...]
    """Of the policies of the test part, in their order."""

    def series(self, policy: str) -> Series:
        """Return the returns of a policy."""
        return next(each for each in self.test_series if each.policy == policy)


def measure_performance(inputs: AnalysisInputs, settings: PerformanceSettings) -> Performance:
    """Backtest everything on validation and test."""
    figures, last = [], list[PlayedPolicy]()
    for number, part in enumerate(PARTS):
        inputs.progress(number, len(PARTS), f"backtests of {part}")
        last = _play_all(inputs.subject, part, settings)
        figures.append(_performance(inputs.subject, part, last, settings.draws))
    series = tuple(
        Series(
            each.backtest.policy,
            each.kind,
            tuple(each.backtest.portfolio_returns.tolist()),
            tuple(each.backtest.returns.mean(axis=1).tolist()),
        )
        for each in last
    )
    return Performance(tuple(figures), series)


def _play_all(
    subject: EvaluatedRun, part: Part, settings: PerformanceSettings
) -> list[PlayedPolicy]:
    data, env, bars = subject.data, subject.env, subject.bars(part)
    agents = require_finite(subject.backtest(part))
    rules, models = _baselines(subject, agents, bars, settings.seed), _supervised(subject)
    policies = [holding(), *rules, *models, *oracle_under_test(data, env)]
    others = [require_finite(each) for each in backtest_opponents(data, env, bars, policies)]
    # A generated index is no index.
    index = [] if data.whole.synthetic else backtest_index(data, env, bars)
    kinds: tuple[tuple[PolicyKind, list[Backtest]], ...] = (
        ("baseline", [*others[: len(rules) + 1], *map(require_finite, index)]),
        ("supervised", others[len(rules) + 1 : len(rules) + 1 + len(models)]),
        ("oracle", others[len(rules) + 1 + len(models) :]),
    )
    opponents = [PlayedPolicy(kind, each) for kind, played in kinds for each in played]
    return [PlayedPolicy("agents", replace(agents, policy=AGENTS)), *opponents]


def _baselines(
    subject: EvaluatedRun, agents: Backtest, bars: IndexRange, seed: int
) -> list[PolicyUnderTest]:
    """Return rules that know nothing of the run, and one that trades as much as it at random.

    A rule that would be flat for lack of bars is no rule beside `flat`: the header says so.
    """
    world, found = subject.data.world, list[PolicyUnderTest]()
    for name in (*BASELINES, *extensions("baseline")):
        if is_silent(name, bars):
            continue
        with suppress(ConfigError):  # a rule that reads a regime which these data do not show
            found.append(PolicyUnderTest(name, baseline(name, world, seed=seed)))
    share = subject.env.rules.limits.max_position_frac
    like = random_like(agents, world, seed=seed, max_position_frac=share)
    return [*found, PolicyUnderTest(MATCHED_RANDOM, like)]


def _supervised(subject: EvaluatedRun) -> list[PolicyUnderTest]:
    """Return what the probabilities that agents see would earn by themselves."""
    chances = subject.data.world.probabilities
    if (chances == chances[0, 0, 0]).all():  # no model: a third each
        return []
    table = torch.from_numpy(np.ascontiguousarray(chances).reshape(-1, chances.shape[-1]))
    return [
        PolicyUnderTest(f"P(up) ≥ {threshold:.2f}", ProbabilityThreshold(table, threshold))
        for threshold in THRESHOLDS
    ]


def _performance(
    subject: EvaluatedRun, part: Part, played: list[PlayedPolicy], draws: int
) -> PartPerformance:
    names = {each.backtest.policy for each in played}
    return part_performance(
        part,
        played,
        action_histograms(played[0].backtest, action_spec(subject.env.rules)),
        read_result(subject.run.path).trading_agents,
        reference=REFERENCE_INDEX if REFERENCE_INDEX in names else HOLD,
        share_draws=draws,
    )
