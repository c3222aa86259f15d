"""Lanes: market, rules and reward; policy, symbol, first bar, costs and delay of every account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.agents.policy import MarketRule, Policy, PolicyInputs
from tradingbot.market.account import Account, open_accounts
from tradingbot.market.bars import TensorMarket
from tradingbot.market.costs import CostRates
from tradingbot.market.observation import PRIVATE_FEATURES
from tradingbot.market.params import SimulatorParams
from tradingbot.rewards import PotentialShaping, RewardStack

SIZE = [feature.name for feature in PRIVATE_FEATURES].index("size")
"""Place of position ÷ largest position among the private numbers."""


class Group(NamedTuple):
    """Lanes that one policy decides for."""

    policy: Policy
    lanes: slice


@dataclass(frozen=True, eq=False)
class Lanes:
    """L accounts side by side."""

    market: TensorMarket
    """Bars, float64."""
    tables: tuple[Tensor, Tensor]
    """Features and regimes by row, the market's part of what policies see."""
    rules: SimulatorParams
    """Of all lanes."""
    reward: RewardStack | PotentialShaping
    """Whose terms are added up."""
    groups: Sequence[Group]
    """Side by side; together all lanes."""
    row: Tensor
    """(L,) int32 row of the market at which each lane begins."""
    rates: CostRates
    """(L,) each."""
    delay_bars: Tensor
    """(L,) int64, bars that each lane's decisions wait."""

    def open(self) -> Account:
        """Open the accounts."""
        mark = self.market.rows[self.row.long(), 3]
        account = open_accounts(self.rules.account.initial_cash_ccy, self.row, mark)
        return account._replace(stale_bars=self.market.stale_bars(self.row))

    def wanted(self, n_bars: int) -> Tensor | None:
        """Return what all lanes want at `n_bars` bars, (S, L); None where accounts matter."""
        rows = self.row.long() + torch.arange(n_bars)[:, None]
        parts = []
        for policy, lanes in self.groups:
            if not isinstance(policy, MarketRule):
                return None
            parts.append(policy.wants(rows[:, lanes]).double())
        return torch.cat(parts, dim=1)

    def ask(self, row: Tensor, private: Tensor, allowed: Tensor | None) -> Tensor:
        """Ask all policies; return actions (L,) in the private numbers' format.

        Args:
            row: (L,) int64 row of the market at which each lane is.
            private: (18, L) what accounts know of themselves.
            allowed: (7, L) bool codes that may be executed; None unless actions are codes.
        """
        asked = []
        for policy, part in self.groups:
            at = row[part]
            codes = None if allowed is None else allowed[:, part]
            features, regimes = (table.index_select(0, at) for table in self.tables)
            wanted = policy(PolicyInputs(at, features, regimes, private[:, part], codes))
            asked.append(wanted.to(private.dtype))
        return torch.cat(asked)
