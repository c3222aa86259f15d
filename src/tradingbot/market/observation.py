"""What an agent knows of its own account: the private part of an observation.

The market's part is not copied here: an account's `row` is the bar it is at, and the window is
gathered on demand (`market/windows.py`).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from tradingbot.market.account import Account
from tradingbot.market.maths import FLOAT_MATHS, TENSOR_MATHS, Maths, T
from tradingbot.market.params import NEVER_FRAC, SimulatorParams
from tradingbot.market.private_features import (
    HOLDING_SCALE_BARS,
    PRIVATE_FEATURES,
)

_COUNTS = (
    *("steps", "holding_bars", "adds", "last_action", "repeats", "n_trades", "n_wins"),
    "stale_bars",
)
"""Fields of an account that the private observation takes as numbers."""


def private_features(rules: SimulatorParams, a: Any, xp: Maths[T]) -> list[T]:
    """Compute the numbers of `PRIVATE_FEATURES`, in that order, within their bounds.

    `a` has the fields of an `Account` that they are made of, one number or (B,) each.
    """
    numbers: tuple[T, ...] = _position(rules, a, xp) + _portfolio(rules, a, xp)
    return [
        xp.clip(number, feature.low, feature.high)
        for number, feature in zip(numbers, PRIVATE_FEATURES, strict=True)
    ]


def _position(rules: SimulatorParams, a: Any, xp: Maths[T]) -> tuple[T, ...]:
    equity = a.cash + a.units * a.mark
    safe_equity = xp.where(equity > 0.0, equity, 1.0)
    side = xp.sign(a.units)
    held = xp.absolute(side)
    entry = xp.where(held > 0.0, a.entry, a.mark)
    account = rules.account
    stop = entry * (1.0 - side * min(account.stop_loss_frac, NEVER_FRAC))
    target = entry * (1.0 + side * min(account.take_profit_frac, NEVER_FRAC))
    discrete = rules.action.space == "discrete"
    return (
        a.units * a.mark / (rules.limits.max_position_frac * safe_equity),
        side * (a.mark / entry - 1.0),
        a.units * (a.mark - entry) / account.initial_cash_ccy,
        a.holding_bars / (a.holding_bars + HOLDING_SCALE_BARS),
        xp.where(held > 0.0, side * (a.mark - stop) / a.mark, 1.0),
        xp.where(held > 0.0, side * (target - a.mark) / a.mark, 1.0),
        a.adds / (a.adds + 1.0),
        a.last_action / 6.0 if discrete else a.smoothed,
    )


def _portfolio(rules: SimulatorParams, a: Any, xp: Maths[T]) -> tuple[T, ...]:
    initial = rules.account.initial_cash_ccy
    equity = a.cash + a.units * a.mark
    safe_equity = xp.where(equity > 0.0, equity, 1.0)
    steps = xp.maximum(a.steps + 0.0, 1.0)
    mean = a.return_sum / steps
    spread = xp.sqrt(xp.maximum(a.return_squares / steps - mean * mean, 1.0e-12))
    downside = xp.sqrt(xp.maximum(a.downside_squares / steps, 1.0e-12))
    return (
        equity / initial - 1.0,
        a.cash / safe_equity,
        xp.absolute(a.units) * a.mark / safe_equity,
        1.0 - equity / a.peak,
        a.realised / initial,
        mean / spread,
        mean / downside,
        a.n_wins / xp.maximum(a.n_trades + 0.0, 1.0),
        a.repeats / (a.repeats + 1.0),
        a.stale_bars / (a.stale_bars + 1.0),
    )


def observe_accounts(rules: SimulatorParams, account: Account) -> Tensor:
    """Return the private observation of B accounts, (18, B), in the accounts' number format."""
    # Counts too: a quotient of integers would be float32, whatever the accounts are.
    numbers = {name: getattr(account, name).to(account.cash.dtype) for name in _COUNTS}
    return torch.stack(private_features(rules, account._replace(**numbers), TENSOR_MATHS))


def observe_opened(rules: SimulatorParams, account: Account) -> Tensor:
    """Return the private observation of B accounts that have just been opened, (18, B).

    What `observe_accounts` would return, at next to no cost: only `stale` differs between them.
    """
    cash = rules.account.initial_cash_ccy
    zeros = dict.fromkeys(Account._fields, 0.0)
    opened = SimpleNamespace(**(zeros | {"cash": cash, "peak": cash, "mark": 1.0}))
    numbers = private_features(rules, opened, FLOAT_MATHS)
    like = account.cash
    # Filled on the device: a copy from the host could not be captured as a CUDA graph.
    shared = [torch.full_like(like, number) for number in numbers[:-1]]
    stale = account.stale_bars.to(like.dtype)
    return torch.stack([*shared, stale / (stale + 1.0)])
