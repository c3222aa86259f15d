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
from tradingbot.market.params import SimulatorParams


class Reward(Protocol):
    """What a reward is to the simulator: weighted terms of a step, which sum to the reward."""

    def __call__(self, rules: SimulatorParams, advanced: Advanced) -> Tensor:
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
    rules: SimulatorParams,
    reward: Reward,
    rates: CostRates,
    market: TensorMarket,
    starts: Starts | None,
    account: Account,
    action: Tensor,
) -> Step:
    """Advance B environments by one bar and begin anew where an episode ended.

    Without `starts` nothing begins anew: accounts go on as they are, as in a backtest.

    Pure: the same arguments give the same step; nothing is drawn, kept or written.
    """
    advanced = advance(rules, rates, account, market.bar(account.row + 1), action)
    terms = reward(rules, advanced)
    final_private = observe_accounts(rules, advanced.after)
    after, private = advanced.after, final_private
    if starts is not None:
        ended = advanced.terminated | advanced.truncated
        begun = begin_next(starts, market, rules.account.initial_cash_ccy, after, ended)
        after = select(ended, begun, after)
        private = torch.where(ended, observe_opened(rules, begun), final_private)
    ends = advanced.terminated, advanced.truncated
    return Step(after, private, final_private, terms.sum(0), terms, *ends, advanced)
