"""The whole step of a batch: advance, reward, observation, ends and automatic reset."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from tradingbot.market.account import Account, select
from tradingbot.market.advance import Advanced, advance
from tradingbot.market.bars import TensorMarket
from tradingbot.market.costs import CostRates
from tradingbot.market.episodes import Starts, begin_next
from tradingbot.market.observation import observe_accounts, observe_opened
from tradingbot.market.rules import Rules


class Reward(Protocol):
    """What a reward is to the simulator: weighted terms of a step, which sum to the reward."""

    def __call__(self, rules: Rules, advanced: Advanced) -> Tensor:
        """Return the weighted terms, (K, B)."""


class Step(NamedTuple):
    """One step of B environments, automatically reset where they ended."""

    account: Account
    """After the reset."""
    private: Tensor
    """(18, B) private observation after the reset."""
    final_private: Tensor
    """(18, B) private observation before the reset: value targets bootstrap from this one."""
    reward: Tensor
    """(B,)"""
    terms: Tensor
    """(K, B) weighted reward terms; their sum is the reward."""
    terminated: Tensor
    """(B,) bool, ruin."""
    truncated: Tensor
    """(B,) bool, the episode's bars are used up; never with `terminated`."""
    advanced: Advanced
    """Everything that happened, before the reset."""


def step(
    rules: Rules,
    reward: Reward,
    rates: CostRates,
    market: TensorMarket,
    starts: Starts,
    account: Account,
    action: Tensor,
) -> Step:
    """Advance B environments by one bar and begin anew where an episode ended.

    Pure: the same arguments give the same step; nothing is drawn, kept or written.
    """
    advanced = advance(rules, rates, account, market.bar(account.row + 1), action)
    terms = reward(rules, advanced)
    ended = advanced.terminated | advanced.truncated
    cash_ccy = rules.account.initial_cash_ccy
    begun = begin_next(starts, market, cash_ccy, advanced.after, ended)
    final_private = observe_accounts(rules, advanced.after)
    return Step(
        account=select(ended, begun, advanced.after),
        private=torch.where(ended, observe_opened(rules, begun), final_private),
        final_private=final_private,
        reward=terms.sum(0),
        terms=terms,
        terminated=advanced.terminated,
        truncated=advanced.truncated,
        advanced=advanced,
    )
