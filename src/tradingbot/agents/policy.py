"""What a policy is: a pure function from what B accounts see to what they want to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from tradingbot.market.private_features import PRIVATE_FEATURES

_SIZE = [feature.name for feature in PRIVATE_FEATURES].index("size")
NO_TRADE_BAND_FRAC = 0.05
"""A position this near to the wanted one, of the largest position, is left as it is."""


class PolicyInputs(NamedTuple):
    """What B accounts may look at when they decide at the close of their bar; nothing later."""

    row: Tensor
    """(B,) int64 row of the market: symbol · T + bar."""
    features: Tensor
    """(B, F) scaled features at that bar; 0 where undefined."""
    regimes: Tensor
    """(B, R) regime indicators at that bar, in [−1, 1]; 0 where undefined."""
    private: Tensor
    """(18, B) what the accounts know of themselves, as `market.observation` writes it."""
    allowed: Tensor | None = None
    """(7, B) bool, codes that may be executed; None unless actions are codes."""

    @property
    def size(self) -> Tensor:
        """(B,) position ÷ largest position."""
        return self.private[_SIZE]


class Policy(Protocol):
    """Decides for B accounts at once; the same `PolicyInputs` gives the same actions."""

    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Return actions (B,) in the space of the rules.

        Rules want target positions, fractions of the largest one; what was trained may want numbers
        of the continuous space, or codes.
        """


def apply_no_trade_band(target: Tensor, size: Tensor) -> Tensor:
    """Ask for the position that is held (B,) where it is near enough to the target (B,).

    Prices move every bar, so a target of 0.5 would mean an order at every bar: costs for nothing.
    A target of 0 is always taken literally.
    """
    near = (target != 0.0) & ((target - size).abs() <= NO_TRADE_BAND_FRAC)
    return torch.where(near, size, target)


class MarketRule(ABC):
    """A policy that looks at the market alone: what it wants can be told for all bars at once.

    Only whether the position is near enough to that depends on the account; see
    `apply_no_trade_band`.
    """

    @abstractmethod
    def wants(self, row: Tensor) -> Tensor:
        """Return target positions (…), fractions of the largest one, at rows (…) of the market."""

    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Return targets (B,), or the positions that are held where those are near enough."""
        return apply_no_trade_band(self.wants(seen.row).to(seen.size.dtype), seen.size)
