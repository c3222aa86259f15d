"""Accounts as plain values and back, bit for bit: what a restart goes on from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from tradingbot.domain.errors import StorageError
from tradingbot.market.account import FLOAT_FIELDS, Account
from tradingbot.market.portfolio.account import (
    PortfolioAccount,
    read_portfolio,
    write_portfolio,
)

SessionAccount = Account | PortfolioAccount
"""What a session holds: an account for each symbol, or one for all of them."""


def write_account(account: SessionAccount) -> dict[str, Any]:
    """Return accounts as lists of numbers by field; JSON keeps every digit of them.

    `fields` are of N accounts, or of the N lanes of a portfolio, whose own are beside them.
    """
    if isinstance(account, PortfolioAccount):
        return {"fields": _write(account.lanes), "portfolio": write_portfolio(account)}
    return {"fields": _write(account)}


def read_account(plain: Mapping[str, Any]) -> SessionAccount:
    """Return what `write_account` wrote.

    Raises:
        StorageError: If a field is missing or unknown.
    """
    lanes, own = _read(plain["fields"]), plain.get("portfolio")
    if own is None:
        return lanes
    _require_fields(own, PortfolioAccount._fields[1:])
    return read_portfolio(lanes, own)


def _write(account: Account) -> dict[str, Any]:
    return {name: getattr(account, name).tolist() for name in Account._fields}


def _read(plain: Mapping[str, Any]) -> Account:
    _require_fields(plain, Account._fields)
    return Account(
        **{
            name: torch.tensor(
                plain[name], dtype=torch.float64 if name in FLOAT_FIELDS else torch.int32
            )
            for name in Account._fields
        }
    )


def _require_fields(plain: Mapping[str, Any], names: tuple[str, ...]) -> None:
    if set(plain) != set(names):
        odd = sorted(set(plain) ^ set(names))
        rule = "a stored account must have the fields of this version"
        raise StorageError(rule, was=", ".join(odd), where="journal")
