"""The reward of one account: written out, called where that fails, and never hiding a fault."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from fixtures.trading_worlds import short_config, small_world
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.batch import BatchSimulator
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.single import TradingEnv
from tradingbot.market import SimulatorParams
from tradingbot.market.account import Account
from tradingbot.rewards import PotentialShaping, RewardStack, reward_preset
from tradingbot.rewards.stack import WeightedTerm
from tradingbot.rewards.term import RewardTerm
from tradingbot.rewards.terms.profit import LogGrowthOptions


def growth(step: Any, _options: object, _xp: object) -> Any:
    return step.equity_return


def growth_branching(step: Any, _options: object, _xp: object) -> Any:
    return step.equity_return if step.equity_return > 0.0 or step.equity_return < 0.0 else 0.0


def growth_misspelt(step: Any, _options: object, _xp: object) -> Any:
    return step.equity_retrun


def growth_plus_nothing(step: Any, _options: object, _xp: object) -> Any:
    return step.equity_return + None


def env_with(formula: Any) -> TradingEnv:
    term = RewardTerm("own", 1, formula, LogGrowthOptions, objective="profit")
    stack = RewardStack((WeightedTerm(term, 1.0, LogGrowthOptions()),))
    return TradingEnv(small_world(), replace(short_config(), reward=stack))


def rewards_of(env: TradingEnv) -> list[float]:
    env.reset(seed=3)
    return [float(env.step(1.0)[1]) for _ in range(6)]


def test_reward_that_cannot_be_written_out_gives_the_same_numbers() -> None:
    branching = rewards_of(env_with(growth_branching))

    assert branching == rewards_of(env_with(growth))
    assert len(set(branching)) > 3


@pytest.mark.parametrize(
    ("formula", "error", "message"),
    [
        (growth_misspelt, AttributeError, "equity_retrun"),
        (growth_plus_nothing, TypeError, "unsupported operand"),
    ],
)
def test_reward_with_a_fault_of_its_own_is_not_caught(
    formula: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        env_with(formula)


def wealth(rules: SimulatorParams, account: Account) -> Tensor:
    return account.equity / rules.account.initial_cash_ccy


def shaped_config() -> EnvConfig:
    shaped = PotentialShaping(reward_preset("v31"), wealth, discount=0.9)
    return replace(short_config(), reward=shaped)


def test_shaped_reward_in_one_environment_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError, match="must be a stack of terms, was PotentialShaping") as e:
        TradingEnv(small_world(), shaped_config())

    assert "vector environment" in str(e.value)


def test_shaped_reward_in_a_batch_is_the_last_term() -> None:
    simulator = BatchSimulator(small_world(), shaped_config(), 2, compile=False)
    simulator.reset(seed=1)

    made = simulator.step(torch.zeros(2))

    torch.testing.assert_close(made.terms[-1], torch.full((2,), 0.9 - 1.0))
