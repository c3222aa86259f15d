"""Potential-based shaping: a term that guides exploration without changing which policy is best.

A potential is any function of the account at a close; a learned one may be plugged in here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from tradingbot.domain.checks import require
from tradingbot.market.account import Account
from tradingbot.market.advance import Advanced
from tradingbot.market.params import SimulatorParams
from tradingbot.rewards.stack import RewardStack
from tradingbot.rewards.term import Bounds

SHAPING = "shaping"


class Potential(Protocol):
    """How promising accounts are."""

    def __call__(self, rules: SimulatorParams, account: Account) -> Tensor:
        """Return Φ of B accounts, (B,)."""


@dataclass(frozen=True)
class PotentialShaping:
    """A reward with one more term, `weight · (γ Φ(after) − Φ(before))`; itself a `Reward`.

    Φ of a terminated account is 0; that of a truncated one is not, because its value target is
    bootstrapped from the same account. The discounted sum over an episode that terminates is then
    `−weight · Φ(first account)`, the same for every policy, so the best policy stays the best.

    Not cut to bounds: a cut would break that.

    Source: Ng, Harada and Russell, 1999, Policy invariance under reward transformations.
    """

    reward: RewardStack
    potential: Potential
    discount: float
    """γ of the learner, in [0, 1]: another value loses the guarantee."""
    weight: float = 1.0

    def __post_init__(self) -> None:
        require(0.0 <= self.discount <= 1.0, "discount must lie in [0, 1]", self)
        require(math.isfinite(self.weight), "weight must be finite", self)

    def __call__(self, rules: SimulatorParams, advanced: Advanced) -> Tensor:
        """Return the weighted terms, (K + 1, B); the last is the shaping."""
        before = self.potential(rules, advanced.before)
        after = self.potential(rules, advanced.after)
        after = torch.where(advanced.terminated, 0.0, after)
        shaping = self.weight * (self.discount * after - before)
        return torch.cat((self.reward(rules, advanced), shaping[None]))

    @property
    def names(self) -> tuple[str, ...]:
        """K + 1 names of the terms, in order."""
        return (*self.reward.names, SHAPING)

    @property
    def bounds(self) -> Bounds:
        """Unbounded: a potential may be anything."""
        return Bounds(-math.inf, math.inf)
