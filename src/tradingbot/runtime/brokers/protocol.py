"""What every broker answers: one protocol for the built-in paper broker and for Alpaca.

An answer that was lost is an outcome of its own, `SubmitOutcome.UNKNOWN`: the order is looked up
by its client order id, never sent again blindly. A broker that cannot be asked raises
`BrokerUnavailableError` instead of returning nothing: an empty answer is a statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

from tradingbot.domain.errors import TradingError
from tradingbot.domain.exact_number import require_exact
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import Side, require_zone
from tradingbot.domain.position import Fill
from tradingbot.runtime.approval import Approval


class SubmitOutcome(StrEnum):
    """How a request to a venue ended."""

    ACCEPTED = "accepted"
    """The venue has it: an order works, or a cancel is under way."""
    REJECTED = "rejected"
    """The venue refused, definitely."""
    UNKNOWN = "unknown"
    """Time-out, 5xx, reset, or an answer that cannot be read: the venue may or may not have it."""


@dataclass(frozen=True)
class SubmitReport:
    """Answer to a request to submit or to cancel.

    Raises:
        TradingError: If it is not accepted and does not say why.
    """

    outcome: SubmitOutcome
    venue_order_id: str | None = None
    reason: str | None = None
    """Words of the venue, or of what went wrong on the way; without secrets."""
    code: str | None = None
    """The venue's code, where it gives one, e.g. `40310000`."""

    def __post_init__(self) -> None:
        if self.outcome is not SubmitOutcome.ACCEPTED and not (self.reason or "").strip():
            rule = "a request that was not accepted must say why"
            raise TradingError(rule, was=self.outcome.value, where="SubmitReport")


@dataclass(frozen=True)
class BrokerOrder:
    """An order as the venue has it."""

    client_order_id: str
    venue_order_id: str
    symbol: str
    side: Side
    quantity_units: Decimal
    """Above 0."""
    filled_units: Decimal
    """0 or more."""
    average_price: Decimal | None
    """Of what is filled; None where nothing is."""
    status: OrderStatus | None
    """None: a status that is not known here. Such an order counts as open."""
    submitted_at: datetime

    def __post_init__(self) -> None:
        where = f"BrokerOrder {self.client_order_id}"
        require_exact(self.quantity_units, "quantity_units", where, positive=True)
        require_exact(self.filled_units, "filled_units", where)
        require_zone(self.submitted_at, "submitted_at", where)

    @property
    def is_open(self) -> bool:
        """Whether units may still fill, as far as is known."""
        return self.status is None or not self.status.is_final


class UpdateKind(StrEnum):
    """What a venue says happened to an order."""

    ACCEPTED = "accepted"
    FILLED = "filled"
    """All of it or a part; the update has the fill."""
    CANCELLED = "cancelled"
    CANCEL_REFUSED = "cancel_refused"
    """The order works on."""
    EXPIRED = "expired"
    REJECTED = "rejected"
    BUSTED = "busted"
    """The venue took back the fill that the update has (a trade correction)."""
    UNKNOWN = "unknown"
    """A word that is not known here: look the order up."""


@dataclass(frozen=True)
class BrokerUpdate:
    """One message of a venue about an order; may come twice, late, or in another order.

    Raises:
        TradingError: If the fill is missing where one must be, or there where none may be.
    """

    kind: UpdateKind
    client_order_id: str
    at: datetime
    """By the venue's clock."""
    venue_order_id: str | None = None
    fill: Fill | None = None
    reason: str | None = None
    filled_units: Decimal | None = None
    """Units of the order that were filled until then, where the venue says it: an end that is told
    before its fills is not believed."""

    def __post_init__(self) -> None:
        where = f"BrokerUpdate {self.client_order_id}"
        require_zone(self.at, "at", where)
        if (self.fill is not None) != (self.kind in (UpdateKind.FILLED, UpdateKind.BUSTED)):
            rule = "fill must be given for filled and busted, and for no other kind"
            raise TradingError(rule, was=self.kind.value, where=where)


@dataclass(frozen=True)
class BrokerAccount:
    """Money at a venue."""

    cash_ccy: Decimal
    equity_ccy: Decimal
    buying_power_ccy: Decimal
    is_blocked: bool
    """Whether the venue refuses every order of this account."""


@dataclass(frozen=True)
class BrokerClock:
    """The venue's time, with its zone, and its trading session."""

    now: datetime
    is_open: bool
    next_open: datetime
    next_close: datetime


def always_open(now: datetime) -> BrokerClock:
    """Return the clock of a venue that never closes."""
    later = now + timedelta(days=1)
    return BrokerClock(now, is_open=True, next_open=later, next_close=later)


@dataclass(frozen=True)
class BrokerAsset:
    """What a venue allows with a symbol."""

    symbol: str
    tradable: bool
    shortable: bool
    fractionable: bool
    halted: bool


class Broker(Protocol):
    """A venue. Every method may raise `BrokerUnavailableError`, but for `submit` and `cancel`.

    Those two answer with `SubmitOutcome.UNKNOWN` instead, because something may have happened.
    """

    def submit(self, approval: Approval) -> SubmitReport:
        """Send an approved order once.

        A client order id that the venue has already makes no second order.

        Raises:
            TradingError: If the seal is not true.
        """
        ...

    def cancel(self, client_order_id: str) -> SubmitReport:
        """Ask for a cancel. ACCEPTED: it is under way; until it is confirmed, units may fill."""
        ...

    def cancel_all(self) -> tuple[BrokerOrder, ...]:
        """Ask for a cancel of every open order, in few requests.

        Returns:
            What is open and of which no cancel is under way.
        """
        ...

    def find_order(self, client_order_id: str) -> BrokerOrder | None:
        """Look an order up; None only where the venue says that it does not know it."""
        ...

    def find_orders(self, client_order_ids: Sequence[str]) -> dict[str, BrokerOrder]:
        """Look many orders up in few requests; left out are only those it does not know."""
        ...

    def open_orders(self) -> tuple[BrokerOrder, ...]:
        """Return every order that may still fill, ours or not."""
        ...

    def fills(self, since: datetime) -> tuple[Fill, ...]:
        """Return executions at or after a moment, in order of time."""
        ...

    def positions(self) -> dict[str, Decimal]:
        """Return symbol → signed units; symbols that are flat are left out."""
        ...

    def account(self) -> BrokerAccount:
        """Return the money."""
        ...

    def clock(self) -> BrokerClock:
        """Return the venue's time."""
        ...

    def assets(self, symbols: Sequence[str]) -> dict[str, BrokerAsset]:
        """Return what is allowed with each of some symbols, in few requests."""
        ...

    def drain_updates(self) -> tuple[BrokerUpdate, ...]:
        """Return what came since the last call, in the order in which it came."""
        ...

    def disconnected_s(self) -> float:
        """Return for how many seconds the venue's messages have not come; 0 while they do."""
        ...
