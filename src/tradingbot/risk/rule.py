"""What a risk rule is: a pure check of a batch of orders that gives a verdict with its numbers.

Rules of an order read the account; rules of a session read what happened today as well. A check is
written once for tensors (B,) and for one order in plain numbers (`np.float64`), which takes a
twentieth of the time of tensors with one lane: functions come from `namespace_of`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
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
    quote_is_crossed: Tensor | None = None
    """1 where the bid reaches the ask, or a side is missing; 0 for an order with a limit."""
    spread_frac: Tensor | None = None
    """Ask less bid, of the price between them; 0 for an order with a limit."""
    quote_age_s: Tensor | None = None
    """Seconds since the quote was made, negative where it is ahead; 0 for an order with a limit."""
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
    missing_limits: Tensor | None = None
    """How many limits are not given or are no number."""
    kill_switch: Tensor | None = None
    """1 where it was pressed and has not been armed again."""
    trading_state: Tensor | None = None
    """0 active, 1 reducing, 2 halted."""
    account_is_blocked: Tensor | None = None
    """1 where the venue takes no order of this account."""
    symbol_is_restricted: Tensor | None = None
    """1 where the symbol is on the list of those that are not traded."""
    asset_is_untradable: Tensor | None = None
    """1 where the venue does not trade the symbol."""
    asset_is_halted: Tensor | None = None
    """1 where trading in the symbol is stopped for now."""
    market_is_closed: Tensor | None = None
    """1 outside the trading session."""
    seconds_to_close: Tensor | None = None
    """Until the session's own close; infinite while the market is closed."""
    unanswered_orders: Tensor | None = None
    """Orders of this symbol that were sent and whose answer was lost."""
    opposite_open_units: Tensor | None = None
    """Units of open orders of this symbol on the other side."""
    quantity_remainder_units: Tensor | None = None
    """By how much the units miss the venue's lot, or its number of decimals."""
    price_remainder_ccy: Tensor | None = None
    """By how much a limit price misses the venue's tick; 0 for a market order."""
    messages_used: Tensor | None = None
    """Orders sent that the token bucket is short of being full."""
    price_jump_frac: Tensor | None = None
    """Size of the change from the price before the last one to the last one."""
    drawdown_frac: Tensor | None = None
    """Deepest fall of equity from its highest value since the breaker was armed."""
    repeated_executions: Tensor | None = None
    """1 where the breaker of repeated executions or of throttled orders has tripped."""
    rejects_in_a_row: Tensor | None = None
    """Rejections by the venue since the last order that it took, or since the breaker was armed."""
    overfills: Tensor | None = None
    """Orders that filled more than they asked for, since the breaker was armed."""
    journal_is_down: Tensor | None = None
    """1 where the last thing that had to be written was not."""
    disconnected_s: Tensor | None = None
    """Seconds since the venue was last heard."""
    clock_skew_s: Tensor | None = None
    """Our clock less the venue's."""
    position_drift_units: Tensor | None = None
    """Our position less the venue's, in any symbol: the largest in size."""
    model_is_unhealthy: Tensor | None = None
    """1 where the model's answer or its version is not what was approved."""
    asset_is_unshortable: Tensor | None = None
    """1 where the venue lends no units."""
    position_loss_frac: Tensor | None = None
    """Loss of the held position, of its entry price; negative where it is a gain, 0 when flat."""
    day_volume_units: Tensor | None = None
    """Mean volume of a day."""
    window_value_ccy: Tensor | None = None
    """Value of orders sent within the last `window_s` seconds."""
    gross_exposure_ccy: Tensor | None = None
    """Value of long and short positions with all open orders and this one, each filled whole."""
    net_exposure_ccy: Tensor | None = None
    """Value of long less short positions with all open orders and this one."""
    start_equity_ccy: Tensor | None = None
    """Equity that the day began with."""
    buying_power_ccy: Tensor | None = None
    """What the venue says may be bought."""


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
        return abs(self.order) * self.mark

    @property
    def reduces(self) -> Tensor:
        """(B,) the order only makes the position smaller and does not turn it."""
        against: Tensor = namespace_of(self.order).sign(self.order) * self.units < 0.0
        return against & (abs(self.order) <= abs(self.units))


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
    limit: str = ""
    """Field of `RiskLimits` that it is judged by; empty where there is nothing to set."""


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
    limit: str = ""
    """Field of `SessionLimits` that it is judged by; empty where there is nothing to set."""


def namespace_of(number: Any) -> Any:
    """Return the module whose functions take this number: torch or NumPy."""
    return torch if isinstance(number, Tensor) else np


def slack(number: Tensor) -> float:
    """Relative distance by which a limit may be missed in this number format: rounding only."""
    if not isinstance(number, Tensor):
        return 1.0e-9  # of float64
    return max(1.0e-9, 64.0 * torch.finfo(number.dtype).eps)
