"""The reward of one account: the terms of a stack, written out as one function where possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tradingbot.domain.errors import ConfigError
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.picklable import Remade
from tradingbot.market.scalar import ScalarAdvanced, ScalarBar, open_account, scalar_advance
from tradingbot.market.tracing import straight_line
from tradingbot.rewards import RewardStack, reward_inputs

ScalarReward = Callable[[ScalarAdvanced], list[float]]


def make_reward(config: EnvConfig) -> ScalarReward:
    """Return the function that gives the weighted terms of a step; they sum to the reward.

    A stack with a term that cannot be traced, one of somebody's own that branches say, is called
    as it is: the same numbers, more slowly. One that fails on plain numbers too is broken, and its
    error is not caught.

    Raises:
        ConfigError: If the reward is no stack: a potential is a function of tensors.
    """
    return Remade(_weighted_terms, config)


def _weighted_terms(config: EnvConfig) -> ScalarReward:
    rules, stack = config.rules, config.reward_stack
    if not isinstance(stack, RewardStack):
        raise ConfigError(
            "reward of a single environment must be a stack of terms",
            was=type(stack).__name__,
            where="EnvConfig.reward",
            remedy="Use a vector environment, which computes it in tensors",
        )

    def weighted(advanced: Any, maths: Any) -> list[Any]:
        step = reward_inputs(rules, advanced, maths)
        return [layer.evaluate(step, maths) for layer in stack.layers]

    account = open_account(rules.account.initial_cash_ccy, 0, 1.0)
    bar = ScalarBar(1.0, 1.0, 1.0, 1.0, volume=1.0, volatility=0.0, tradable=1.0)
    example = scalar_advance(rules, config.costs, account, bar, 0.0)
    try:
        return straight_line(weighted, example)
    except (TypeError, AttributeError):
        stack.scalar(rules, example)  # raises what is a fault of the term, not of being traced
        return lambda advanced: stack.scalar(rules, advanced)
