"""How the run did on validation and test, beside baselines, classifiers and the oracle."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.agents.baselines.buy_and_hold import buy_and_hold
from tradingbot.agents.baselines.probability_threshold import THRESHOLDS, ProbabilityThreshold
from tradingbot.data.calendar import closing_day
from tradingbot.data.json_files import json_problem
from tradingbot.data.splits import IndexRange
from tradingbot.domain.checks import require, require_kinds
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population.layout import action_spec
from tradingbot.envs.world import select_symbols
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun, Part
from tradingbot.evaluation.backtest import Backtest, PolicyUnderTest, backtest, sleeve_config
from tradingbot.evaluation.backtest.baselines import baseline, is_silent, random_like
from tradingbot.evaluation.dossier.performance import PartFigures, PolicyKind
from tradingbot.evaluation.oracle.action_rule import Information
from tradingbot.evaluation.oracle_policy import oracle_policy
from tradingbot.evaluation.policy_figures import (
    agent_rows,
    day_ends,
    policy_row,
    require_finite,
    share_interval,
    traded_steps,
    voluntary_trade_frac,
)
from tradingbot.evaluation.statistics.policy_intervals import net_bps_interval
from tradingbot.learning.playing import action_histogram
from tradingbot.training.data import REFERENCE_INDEX
from tradingbot.training.results import AGENTS, HOLD, ORACLE, RESULT_FILE

LONG_ONLY_ORACLE = f"{ORACLE}, long only"
"""Row of the oracle, which is long-only, beside agents that may sell short."""
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

    parts: tuple[PartFigures, ...]
    test_series: tuple[Series, ...]
    """Of the policies of the test part, in their order."""

    def series(self, policy: str) -> Series:
        """Return the returns of a policy."""
        return next(each for each in self.test_series if each.policy == policy)


@dataclass(frozen=True, eq=False)
class _Played:
    """A backtest and what it is of."""

    kind: PolicyKind
    test: Backtest


def measure_performance(inputs: AnalysisInputs, settings: PerformanceSettings) -> Performance:
    """Backtest everything on validation and test."""
    figures, last = [], list[_Played]()
    for number, part in enumerate(PARTS):
        inputs.progress(number, len(PARTS), f"backtests of {part}")
        last = _play_all(inputs.subject, part, settings)
        figures.append(_figures(inputs.subject, part, last, settings.draws))
    series = tuple(
        Series(
            each.test.policy,
            each.kind,
            tuple(each.test.portfolio_returns.tolist()),
            tuple(each.test.returns.mean(axis=1).tolist()),
        )
        for each in last
    )
    return Performance(tuple(figures), series)


def trading_agents(subject: EvaluatedRun) -> tuple[str, ...]:
    """Return the names of the agents that validation lets trade.

    Raises:
        StorageError: If the result of the run cannot be read.
    """
    path = subject.run.path / RESULT_FILE
    try:
        return tuple(json.loads(path.read_bytes())["trading_agents"])
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise StorageError(
            "a finished run must have a readable result",
            was=_problem(e),
            where=str(path),
            remedy="Restore the file, or train again",
        ) from e


def _problem(error: OSError | ValueError | KeyError | TypeError) -> str:
    if isinstance(error, OSError | ValueError):
        return json_problem(error)
    return "one without trading_agents"


def action_histograms(subject: EvaluatedRun, played: Backtest) -> NDArray[np.float64]:
    """Return the share (N, bins) of each action bin: codes, or seven equal bins of the range."""
    actions = torch.from_numpy(played.action)[..., None]
    spec = action_spec(subject.env.rules)
    actions = actions.long() if spec.kind == "discrete" else actions
    return np.asarray(action_histogram(actions, spec).numpy())


def _play_all(subject: EvaluatedRun, part: Part, settings: PerformanceSettings) -> list[_Played]:
    agents = require_finite(subject.backtest(part))
    rules = _baselines(subject, agents, subject.bars(part), settings.seed)
    models = _supervised(subject)
    policies = [PolicyUnderTest(HOLD, buy_and_hold), *rules, *models]
    others = subject.backtest_all(policies, part, env=_opponents_env(subject))
    played = [_Played("agents", replace(agents, policy=AGENTS))]
    played += [_Played("baseline", require_finite(each)) for each in others[: len(rules) + 1]]
    played += [_Played("baseline", each) for each in _index(subject, part)]
    played += [_Played("supervised", each) for each in others[len(rules) + 1 :]]
    played += [_Played("oracle", each) for each in _oracle(subject, part)]
    return played


def _opponents_env(subject: EvaluatedRun) -> EnvConfig:
    """Let opponents pay what the agents pay, and sell short where the agents may."""
    return sleeve_config(subject.env.costs, allow_short=subject.env.rules.limits.allow_short)


def _baselines(
    subject: EvaluatedRun, agents: Backtest, bars: IndexRange, seed: int
) -> list[PolicyUnderTest]:
    """Return rules that know nothing of the run, and one that trades as much as it at random.

    A rule that would be flat for lack of bars is no rule beside `flat`: the header says so.
    """
    world, found = subject.data.world, list[PolicyUnderTest]()
    for name in BASELINES:
        if is_silent(name, bars):
            continue
        with suppress(ConfigError):  # a rule that reads a regime which these data do not show
            found.append(PolicyUnderTest(name, baseline(name, world, seed=seed)))
    share = subject.env.rules.limits.max_position_frac
    like = random_like(agents, world, seed=seed, max_position_frac=share)
    return [*found, PolicyUnderTest("random, as much", like)]


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


def _index(subject: EvaluatedRun, part: Part) -> list[Backtest]:
    """Buy and hold the reference index, where the data have it; a generated one is no index."""
    whole = subject.data.whole
    if whole.synthetic or REFERENCE_INDEX not in whole.symbols:
        return []
    bars = subject.bars(part)
    played = backtest(
        select_symbols(whole, [REFERENCE_INDEX]),
        _opponents_env(subject),
        buy_and_hold,
        name=REFERENCE_INDEX,
        bars_per_year=subject.bars_per_year,
        first_bar=bars.start,
        last_bar=bars.stop - 1,
    )
    return [require_finite(played)]


def _oracle(subject: EvaluatedRun, part: Part) -> list[Backtest]:
    """Let the oracle of a known market trade; nobody else knows what it knows."""
    data, costs = subject.data, subject.env.costs
    if data.market is None:
        return []
    cost_frac = costs.one_way_frac
    try:
        policy = oracle_policy(
            data.market, data.world, cost_frac=cost_frac, information=Information.ATTAINABLE
        )
    except ConfigError:  # not every market has one
        return []
    # What never sells short bounds nothing that agents who may do so can earn: no share of it.
    name = LONG_ONLY_ORACLE if subject.env.rules.limits.allow_short else ORACLE
    return list(
        subject.backtest_all([PolicyUnderTest(name, policy)], part, env=_opponents_env(subject))
    )


def _figures(subject: EvaluatedRun, part: Part, played: list[_Played], draws: int) -> PartFigures:
    tests = {each.test.policy: each.test for each in played}
    agents, hold = tests[AGENTS], tests[HOLD]
    reference = REFERENCE_INDEX if REFERENCE_INDEX in tests else HOLD
    market = tests[reference].portfolio_returns
    mine = agents.returns.mean(axis=1)
    best = tests[ORACLE].returns.mean(axis=1) if ORACLE in tests else None
    days = closing_day(agents.closed_at.astype("datetime64[us]"))[day_ends(agents)]
    histograms = action_histograms(subject, agents)
    models = [each.test for each in played if each.kind == "supervised"]
    return PartFigures(
        part=part,
        first_day=str(days[0]),
        last_day=str(days[-1]),
        bars=agents.n_bars,
        days=tuple(str(day) for day in days),
        reference=reference,
        policies=tuple(policy_row(each.test, each.kind, market) for each in played),
        agents=agent_rows(agents, hold, histograms, trading_agents(subject), models),
        excess_over_hold_bps=net_bps_interval(mine - hold.returns.mean(axis=1)),
        share_of_oracle=None if best is None else share_interval(mine, best, draws),
        voluntary_trade_frac=voluntary_trade_frac(agents),
        trades_per_1000=1e3 * float(traded_steps(agents).mean()),
    )
