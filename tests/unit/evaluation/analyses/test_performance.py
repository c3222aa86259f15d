"""Opponents of a dossier: they pay what the agents pay, and may sell short where those may."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.performance import Performance, measure_performance
from tradingbot.evaluation.analyses.settings import PerformanceSettings
from tradingbot.evaluation.backtest import Backtest, PolicyUnderTest, baseline, sleeve_config
from tradingbot.evaluation.performance.record import ORACLE

SHORT_RULE = "macd"


@pytest.fixture(scope="module")
def shorting(subject: EvaluatedRun) -> EvaluatedRun:
    """The run as if its agents might sell short; its policy does not."""
    rules = subject.env.rules
    limits = replace(rules.limits, allow_short=True)
    return replace(subject, env=replace(subject.env, rules=replace(rules, limits=limits)))


@pytest.fixture(scope="module")
def beside_short(shorting: EvaluatedRun) -> Performance:
    return measure_performance(AnalysisInputs(shorting), PerformanceSettings(draws=100))


def played(subject: EvaluatedRun, *, allow_short: bool) -> Backtest:
    rule = PolicyUnderTest(SHORT_RULE, baseline(SHORT_RULE, subject.data.world))
    env = sleeve_config(subject.env.costs, allow_short=allow_short)
    (only,) = subject.backtest_all([rule], "test", env=env)
    return only


def test_baselines_sell_short_where_the_agents_may(
    shorting: EvaluatedRun, beside_short: Performance
) -> None:
    wanted = played(shorting, allow_short=True)

    assert wanted.position_frac.min() < -0.5  # the rule does sell short on these bars
    np.testing.assert_array_equal(
        beside_short.series(SHORT_RULE).portfolio, wanted.portfolio_returns
    )


def test_baselines_stay_long_where_the_agents_must(subject: EvaluatedRun) -> None:
    found = measure_performance(AnalysisInputs(subject), PerformanceSettings(draws=100))

    np.testing.assert_array_equal(
        found.series(SHORT_RULE).portfolio, played(subject, allow_short=False).portfolio_returns
    )
    assert found.parts[-1].policy(ORACLE) is not None
    assert found.parts[-1].share_of_oracle is not None


def test_agents_that_may_sell_short_are_measured_by_an_oracle_that_may(
    beside_short: Performance, subject: EvaluatedRun
) -> None:
    """A long-only oracle was earned 135 to 145 % of."""
    test = beside_short.parts[-1]
    (oracle,) = (row for row in test.policies if row.kind == "oracle")
    long_only = measure_performance(AnalysisInputs(subject), PerformanceSettings(draws=100))
    (bound,) = (row for row in long_only.parts[-1].policies if row.kind == "oracle")

    assert oracle.policy == bound.policy == ORACLE
    assert oracle.net_bps_per_bar.estimate > 1.1 * bound.net_bps_per_bar.estimate > 0.0
    assert test.share_of_oracle is not None
