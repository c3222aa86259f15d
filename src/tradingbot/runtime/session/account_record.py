"""Accounts as plain values and back, bit for bit: what a restart goes on from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from tradingbot.domain.errors import StorageError
from tradingbot.market.account import FLOAT_FIELDS, Account


def write_account(account: Account) -> dict[str, Any]:
    """Return N accounts as lists of numbers by field; JSON keeps every digit of them."""
    return {name: getattr(account, name).tolist() for name in Account._fields}


def read_account(plain: Mapping[str, Any]) -> Account:
    """Return the accounts that `write_account` wrote.

    Raises:
        StorageError: If a field is missing or unknown.
    """
    if set(plain) != set(Account._fields):
        odd = sorted(set(plain) ^ set(Account._fields))
        rule = "a stored account must have the fields of this version"
        raise StorageError(rule, was=", ".join(odd), where="journal")
    return Account(
        **{
            name: torch.tensor(
                plain[name], dtype=torch.float64 if name in FLOAT_FIELDS else torch.int32
            )
            for name in Account._fields
        }
    )
