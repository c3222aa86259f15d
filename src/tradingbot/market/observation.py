"""What an agent knows of its own account: the private part of an observation.

The market's part is not copied here: an account's `row` is the bar it is at, and the window is
gathered on demand (`market/windows.py`).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tradingbot.market.account import Account
from tradingbot.market.maths import FLOAT_MATHS, TENSOR_MATHS, Maths, T
from tradingbot.market.params import NEVER_FRAC, SimulatorParams

HOLDING_SCALE_BARS = 24.0
RATIO_BOUND = 1.0
"""Sharpe and Sortino per bar are cut to this."""


class PrivateFeature(NamedTuple):
    """Name and bounds of one number of the private observation."""

    name: str
    low: float
    high: float


POSITION_FEATURES = (
    PrivateFeature("size", -2.0, 2.0),  # position ÷ largest position
    PrivateFeature("entry_move", -1.0, 2.0),  # return since entry, in the position's direction
    PrivateFeature("unrealised", -2.0, 2.0),  # unrealised P&L ÷ initial cash
    PrivateFeature("holding", 0.0, 1.0),  # bars ÷ (bars + 24)
    PrivateFeature("stop_distance", -1.0, 1.0),  # way to the stop ÷ price; 1 when flat
    PrivateFeature("target_distance", -1.0, 1.0),  # way to the take-profit ÷ price; 1 when flat
    PrivateFeature("adds", 0.0, 1.0),  # adds ÷ (1 + adds)
    PrivateFeature("last_action", -1.0, 1.0),  # smoothed action, or code ÷ 6 of a discrete one
)
PORTFOLIO_FEATURES = (
    PrivateFeature("total_return", -1.0, 10.0),  # equity ÷ initial cash − 1
    PrivateFeature("cash", -2.0, 4.0),  # of equity
    PrivateFeature("exposure", 0.0, 4.0),  # of equity
    PrivateFeature("drawdown", 0.0, 1.0),  # 1 − equity ÷ peak
    PrivateFeature("realised", -2.0, 10.0),  # realised P&L ÷ initial cash
    PrivateFeature("sharpe", -RATIO_BOUND, RATIO_BOUND),  # per bar, since the episode began
    PrivateFeature("sortino", -RATIO_BOUND, RATIO_BOUND),  # likewise
    PrivateFeature("win_rate", 0.0, 1.0),  # of closed trades
    PrivateFeature("repeats", 0.0, 1.0),  # repeats ÷ (1 + repeats)
    PrivateFeature("stale", 0.0, 1.0),  # bars without a trade ÷ (1 + those)
)
PRIVATE_FEATURES = POSITION_FEATURES + PORTFOLIO_FEATURES
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
