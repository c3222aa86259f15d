"""Accounts as two tensors: few arguments make a compiled step cheap to call.

A call pays for every tensor it takes and returns (about 1 µs each, for guards and allocation), and
an `Account` has 36. Packed, a field is one row, so reading it costs nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.market.account import COUNT_FIELDS, FLOAT_FIELDS, Account
from tradingbot.market.costs import CostRates


class PackedAccount(NamedTuple):
    """B accounts: `money` (19, B) floating point, `counts` (22, B) int32, as `Account` has them."""

    money: Tensor
    counts: Tensor

    @property
    def row(self) -> Tensor:
        """(B,) the market row each account is at."""
        return self.counts[COUNT_FIELDS.index("row")]

    @property
    def episode(self) -> Tensor:
        """(B,) number of the episode each account is in, from 0."""
        return self.counts[COUNT_FIELDS.index("episode")]

    @property
    def bytes_per_account(self) -> int:
        """Memory of one account."""
        return sum(x.shape[0] * x.element_size() for x in self)


def pack(account: Account) -> PackedAccount:
    """Stack the fields of accounts."""
    money, counts = (
        torch.stack([getattr(account, name) for name in names])
        for names in (FLOAT_FIELDS, COUNT_FIELDS)
    )
    return PackedAccount(money, torch.cat((counts, account.action_ages)))


def unpack(packed: PackedAccount) -> Account:
    """See packed accounts as fields, without copying."""
    rows = (*packed.money.unbind(), *packed.counts[: len(COUNT_FIELDS)].unbind())
    return Account._make((*rows, packed.counts[len(COUNT_FIELDS) :]))


def pack_rates(rates: CostRates) -> Tensor:
    """Stack cost rates into (5,), or (5, B) where any of them differs from lane to lane."""
    widest = max(rates, key=Tensor.dim)
    return torch.stack([rate.expand_as(widest) for rate in rates])


def unpack_rates(rates: Tensor) -> CostRates:
    """See packed rates as a record."""
    return CostRates(*rates.unbind())
