"""Lanes: market, rules and reward; policy, symbol, first bar, costs and delay of every account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.agents.policy import MarketRule, Policy, PolicyInputs, apply_no_trade_band
from tradingbot.market.account import Account, open_accounts
from tradingbot.market.actions.neutral import neutralise
from tradingbot.market.bars import TensorMarket
from tradingbot.market.costs import CostRates
from tradingbot.market.params import SimulatorParams
from tradingbot.market.private_features import PRIVATE_FEATURES
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
        return self._neutral(torch.cat(parts, dim=1), rows)

    def ask(self, row: Tensor, private: Tensor, allowed: Tensor | None) -> Tensor:
        """Ask all policies; return actions (L,) in the private numbers' format.

        Args:
            row: (L,) int64 row of the market at which each lane is.
            private: (18, L) what accounts know of themselves.
            allowed: (7, L) bool codes that may be executed; None unless actions are codes.
        """
        gross_frac, asked = self.rules.action.neutral_gross_frac, []
        for policy, part in self.groups:
            at = row[part]
            if gross_frac and isinstance(policy, MarketRule):  # near enough is judged below
                wanted = policy.wants(at)
            else:
                codes = None if allowed is None else allowed[:, part]
                features, regimes = (table.index_select(0, at) for table in self.tables)
                wanted = policy(PolicyInputs(at, features, regimes, private[:, part], codes))
            asked.append(wanted.to(private.dtype))
        actions = self._neutral(torch.cat(asked), row)
        for policy, part in self.groups if gross_frac else ():
            if isinstance(policy, MarketRule):
                actions[part] = apply_no_trade_band(actions[part], private[SIZE, part])
        return actions

    def _neutral(self, wanted: Tensor, row: Tensor) -> Tensor:
        """Make targets (…, L) of each policy's symbols market-neutral where the rules say so."""
        gross_frac = self.rules.action.neutral_gross_frac
        if not gross_frac:
            return wanted
        by_symbol = (*wanted.shape[:-1], -1, self.market.n_symbols)
        has_bar = (self.market.stale_bars(row) == 0).view(by_symbol)
        parts = (wanted.view(by_symbol).movedim(-1, 0), has_bar.movedim(-1, 0))
        return neutralise(*parts, gross_frac).movedim(0, -1).reshape(wanted.shape)
