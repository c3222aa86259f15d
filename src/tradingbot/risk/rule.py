"""What a risk rule is: a pure check of a batch of orders that gives a verdict with its numbers.

Rules of an order read the account; rules of a session read what happened today as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.domain.denial import Denial, SessionDenial
from tradingbot.risk.limits import RiskLimits


class SessionFacts(NamedTuple):
    """What a trading session knows beyond the account; each (B,) floating point, or None.

    None: the fact is not kept here, as in the simulator. NaN: it is kept, and unknown for this
    order.
    """

    order_is_duplicate: Tensor | None = None
    """1 where an order with this client order id, or with the same content within the duplicate
    window, was sent before."""
    limit_price: Tensor | None = None
    """Price of a limit order; `last_price` for a market order."""
    last_price: Tensor | None = None
    """Last price that was traded or quoted."""
    last_price_age_s: Tensor | None = None
    """Seconds since then."""
    loss_today_frac: Tensor | None = None
    """Realised and unrealised loss since the session began, of the equity it began with; negative
    where it is a gain."""
    trades_today: Tensor | None = None
    """Orders with a fill since the session began."""
    confidence: Tensor | None = None
    """How sure the decision was, 0 to 1."""
    correlated_exposure_frac: Tensor | None = None
    """Gross exposure, of equity, that this order would leave in symbols that move together with
    it."""
    open_order_value_ccy: Tensor | None = None
    """Value of orders that were sent and may still fill."""


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
    session: SessionFacts | None = None
    """Facts of the session; None in the simulator, where they cost nothing."""

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


class SessionRule(NamedTuple):
    """A check that reads facts of the session."""

    code: SessionDenial
    facts: tuple[str, ...]
    """Fields of `SessionFacts` that it reads."""
    check: Callable[..., RiskVerdict]
    """(limits, view, *facts) → verdict; called where every fact is kept; NaN must deny."""
    judges_reducing: bool = False
    inactive_in_simulation: bool = True
    """Whether the simulator may do without the facts; elsewhere a fact that is not kept denies."""


def slack(number: Tensor) -> float:
    """Relative distance by which a limit may be missed in this number format: rounding only."""
    return max(1.0e-9, 64.0 * torch.finfo(number.dtype).eps)
