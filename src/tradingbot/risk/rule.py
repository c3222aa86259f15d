"""What a risk rule is: a pure check of a batch of orders that gives a verdict with its numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.domain.denial import Denial
from tradingbot.risk.limits import RiskLimits


class OrderView(NamedTuple):
    """Orders of B accounts and what is known of those accounts; every field (B,)."""

    order: Tensor
    """Signed units wanted."""
    units: Tensor
    """Signed units held."""
    mark: Tensor
    """Price they are valued at."""
    cash: Tensor
    equity: Tensor
    stale_bars: Tensor
    halted: Tensor
    """1 where trading has been stopped."""

    @property
    def after(self) -> Tensor:
        """(B,) units held if the order fills whole."""
        return self.units + self.order

    @property
    def value(self) -> Tensor:
        """(B,) size of the order in account currency."""
        return self.order.abs() * self.mark

    @property
    def reduces(self) -> Tensor:
        """(B,) the order only makes the position smaller and does not turn it."""
        against = torch.sign(self.order) * self.units < 0.0
        return against & (self.order.abs() <= self.units.abs())


class RiskVerdict(NamedTuple):
    """Result of one rule for B orders; limit and observed in the rule's own unit."""

    denied: Tensor
    limit: Tensor | float
    observed: Tensor


class RiskRule(NamedTuple):
    """A check with its code. `judges_reducing`: orders that only reduce are judged as well."""

    code: Denial
    check: Callable[[RiskLimits, OrderView], RiskVerdict]
    judges_reducing: bool = False


def slack(number: Tensor) -> float:
    """Relative distance by which a limit may be missed in this number format: rounding only."""
    return max(1.0e-9, 64.0 * torch.finfo(number.dtype).eps)
