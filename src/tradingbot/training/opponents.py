"""Whom agents are compared with on the bars of a part: holding, the index, the oracle.

They pay what the agents pay, and sell short where the agents may. The backtester is
`evaluation.backtest`, as for the agents.
"""

from __future__ import annotations

from typing import Any

from tradingbot.agents.baselines.market_rules import buy_and_hold
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.world import select_symbols
from tradingbot.evaluation.backtest import (
    Backtest,
    PolicyUnderTest,
    backtest,
    backtest_all,
    sleeve_config,
)
from tradingbot.evaluation.backtest.baselines import oracle_policy
from tradingbot.evaluation.oracle.action_rule import ActionRule, Information
from tradingbot.evaluation.performance.record import HOLD, ORACLE
from tradingbot.training.data import REFERENCE_INDEX, TrainingData


def opponents_config(env: EnvConfig) -> EnvConfig:
    """Let opponents pay what the agents pay, and sell short where the agents may."""
    return sleeve_config(env.costs, allow_short=env.rules.limits.allow_short)


def holding() -> PolicyUnderTest:
    """Return equal weight that is bought and held."""
    return PolicyUnderTest(HOLD, buy_and_hold)


def oracle_under_test(data: TrainingData, env: EnvConfig) -> list[PolicyUnderTest]:
    """Return the oracle of a known market, allowed the agents' positions; nothing without one."""
    if data.market is None:
        return []
    short = env.rules.limits.allow_short
    try:
        policy = oracle_policy(
            data.market,
            data.world,
            cost_frac=env.costs.one_way_frac,
            information=Information.ATTAINABLE,
            action_rule=ActionRule.LONG_SHORT if short else ActionRule.LONG_ONLY,
        )
    except ConfigError:  # not every market has one
        return []
    return [PolicyUnderTest(ORACLE, policy)]


def backtest_index(data: TrainingData, env: EnvConfig, bars: IndexRange) -> list[Backtest]:
    """Buy and hold the reference index where the data have it."""
    if REFERENCE_INDEX not in data.whole.symbols:
        return []
    index, env = select_symbols(data.whole, [REFERENCE_INDEX]), opponents_config(env)
    return [backtest(index, env, buy_and_hold, name=REFERENCE_INDEX, **span_of(data, bars))]


def span_of(data: TrainingData, bars: IndexRange) -> dict[str, Any]:
    """Say to the backtester which bars are traded, and how many a year has."""
    return {"bars_per_year": data.bars_per_year, "bars": bars}


def backtest_opponents(
    data: TrainingData, env: EnvConfig, bars: IndexRange, policies: list[PolicyUnderTest]
) -> tuple[Backtest, ...]:
    """Backtest opponents on the symbols of a run."""
    return backtest_all(data.world, opponents_config(env), policies, **span_of(data, bars))
