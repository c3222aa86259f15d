"""Alpaca's paper account as a broker: one order per approval, whatever the line does.

An answer that was lost is settled before anything is sent again: the order is looked up by its
client order id. Found, it is adopted. Only when the venue has said twice that it does not know the
id is the order sent again, with the same id, which the venue takes once for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from tradingbot.data.sources.pacing import Clock
from tradingbot.data.sources.vendors import AlpacaCredentials
from tradingbot.domain.errors import BrokerUnavailableError
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.position import Fill
from tradingbot.runtime.approval import Approval, require_seal
from tradingbot.runtime.brokers.alpaca.access import (
    AlpacaBrokerSettings,
    require_paper_account,
    require_paper_key,
)
from tradingbot.runtime.brokers.alpaca.assets import fetch_assets, read_assets
from tradingbot.runtime.brokers.alpaca.reading import (
    SymbolNames,
    number,
    read_account,
    read_clock,
    read_order,
)
from tradingbot.runtime.brokers.alpaca.stream import UpdateStream
from tradingbot.runtime.brokers.alpaca.submission import Submission
from tradingbot.runtime.brokers.alpaca.updates import OrderUpdates
from tradingbot.runtime.brokers.alpaca.wire import (
    AnswerLostError,
    TooManyRequestsError,
    TradingWire,
    VenueRefusalError,
)
from tradingbot.runtime.brokers.protocol import (
    BrokerAccount,
    BrokerAsset,
    BrokerClock,
    BrokerOrder,
    BrokerUpdate,
    SubmitOutcome,
    SubmitReport,
)

_Answer = TypeVar("_Answer")
_Body = TypeVar("_Body")
_CANCEL_ATTEMPTS = 3
_FAILURES = (AnswerLostError, TooManyRequestsError, VenueRefusalError)
_UNREADABLE = (KeyError, TypeError, ValueError, InvalidOperation)


class AlpacaBroker:
    """Implements `Broker`; use as a context manager, which opens account and stream.

    Args:
        credentials: Key pair of a paper account.
        settings: Where and how it is asked.
        symbols: As we spell them; `BRK-B` is known without being named.
        clock: Time, for waits and time limits.

    Raises:
        ConfigError: If the key or the address is not that of a paper account.
    """

    def __init__(
        self,
        credentials: AlpacaCredentials,
        settings: AlpacaBrokerSettings = AlpacaBrokerSettings(),  # noqa: B008 - frozen
        symbols: Iterable[str] = (),
        clock: Clock = Clock(),  # noqa: B008 - frozen
    ) -> None:
        require_paper_key(credentials, settings)
        self._settings, self._clock = settings, clock
        self._names = SymbolNames(symbols)
        self._wire = TradingWire(credentials, settings, clock)
        self._stream = UpdateStream(credentials, settings, clock)
        self._updates = OrderUpdates(self._wire, self._stream, self._names, settings, clock)

    def __enter__(self) -> Self:
        """Open the account.

        Raises:
            BrokerUnavailableError: If it cannot be asked.
            ConfigError: If it is not a paper account.
        """
        try:
            require_paper_account(self._ask(self._wire.account).get("account_number"))
            self._updates.begin(self.clock().now - timedelta(seconds=1))
        except BaseException:
            self._wire.close()
            raise
        self._stream.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close stream and connections; orders stay as they are."""
        self._stream.stop()
        self._wire.close()

    def submit(self, approval: Approval) -> SubmitReport:
        """Send an approved order; see the module.

        Raises:
            TradingError: If the seal is not true.
        """
        intent = require_seal(approval)
        self._names.add(intent.symbol)
        submission = Submission(self._wire, self._names, self._settings, self._clock, intent)
        report = submission.send()
        if submission.order is not None:
            self._updates.watch(submission.order)
        if submission.was_lost or report.outcome is SubmitOutcome.UNKNOWN:
            self._updates.mark_stale()  # events of an order that was not followed yet are gone
        return report

    def cancel(self, client_order_id: str) -> SubmitReport:
        """Ask for a cancel, in the lane that orders leave free."""
        venue_id = self._updates.venue_order_id(client_order_id)
        was_sent, reason = False, "not asked"
        for _ in range(_CANCEL_ATTEMPTS):
            try:
                if venue_id is None:
                    order = self._find(client_order_id)
                    if order is None:
                        known = f"Alpaca does not know {client_order_id}"
                        return _refused(known, "unknown_order")
                    if (report := self._judge_cancel(order, was_sent)) is not None:
                        return report
                    venue_id = order.venue_order_id
                was_sent = True
                self._wire.cancel(venue_id)
                return SubmitReport(SubmitOutcome.ACCEPTED, venue_id)
            except (AnswerLostError, TooManyRequestsError) as e:
                venue_id, reason = None, str(e)
                self._clock.sleep(self._settings.lookup_wait_s)
            except VenueRefusalError as e:
                if self._wire.is_key_refused:
                    return _refused(e.message, "key_refused")
                # It ended meanwhile, or is in a state that it leaves: it is read again.
                venue_id, was_sent, reason = None, False, e.message
        return SubmitReport(SubmitOutcome.UNKNOWN, reason=reason)

    def _judge_cancel(self, order: BrokerOrder, was_sent: bool) -> SubmitReport | None:
        """Say how a cancel ended by the order as it was read; None where it must be sent."""
        is_done = was_sent and order.status is OrderStatus.CANCELLED
        if is_done or order.status is OrderStatus.PENDING_CANCEL:
            return SubmitReport(SubmitOutcome.ACCEPTED, order.venue_order_id)
        if order.is_open:
            return None
        self._updates.mark_stale()
        return _refused(f"the order is {order.status}", "not_cancelable")

    def cancel_all(self) -> tuple[BrokerOrder, ...]:
        """Cancel every open order, each on its own where the venue failed; returns what is open.

        Raises:
            BrokerUnavailableError: If it cannot be told what is open.
        """
        try:
            self._wire.cancel_all()
        except (AnswerLostError, TooManyRequestsError):
            pass  # what is open now says what was done
        except VenueRefusalError as e:
            raise self._unavailable(e) from e
        for order in self._uncancelled():
            self.cancel(order.client_order_id)
        self._updates.mark_stale()
        return self._uncancelled()

    def _uncancelled(self) -> tuple[BrokerOrder, ...]:
        return tuple(o for o in self.open_orders() if o.status is not OrderStatus.PENDING_CANCEL)

    def find_order(self, client_order_id: str) -> BrokerOrder | None:
        """Look an order up; one that is open is followed from then on.

        Raises:
            BrokerUnavailableError: If it cannot be told.
        """
        return self._follow(self._ask(lambda: self._find(client_order_id)))

    def find_orders(self, client_order_ids: Sequence[str]) -> dict[str, BrokerOrder]:
        """Look orders up in the last 500 of the account; each on its own that is not there."""
        bodies = self._ask(self._updates.recent_orders) if len(client_order_ids) > 1 else []
        listed = {str(body.get("client_order_id")): body for body in bodies}
        found = {
            each: self._follow(self._ask(partial(read_order, listed[each], self._names)))
            if each in listed
            else self.find_order(each)
            for each in client_order_ids
        }
        return {each: order for each, order in found.items() if order is not None}

    def _follow(self, order: BrokerOrder | None) -> BrokerOrder | None:
        if order is not None and order.is_open:
            self._updates.watch(order)
        return order

    def _find(self, client_order_id: str) -> BrokerOrder | None:
        try:
            return read_order(self._wire.find(client_order_id), self._names)
        except VenueRefusalError as e:
            if e.is_unknown_order:
                return None
            raise

    def open_orders(self) -> tuple[BrokerOrder, ...]:
        """Return every order that may still fill, ours or not.

        Raises:
            BrokerUnavailableError: If one cannot be read: it is not left out.
        """
        bodies = self._ask(self._wire.open_orders)
        return self._ask(lambda: tuple(read_order(body, self._names) for body in bodies))

    def fills(self, since: datetime) -> tuple[Fill, ...]:
        """Return executions at or after a moment, in order of time."""
        found = self._ask(lambda: self._updates.executions(since))
        return tuple(fill for fill, _ in found)

    def positions(self) -> dict[str, Decimal]:
        """Return symbol → signed units."""
        return self._read(
            self._wire.positions,
            lambda rows: {self._names.ours(row["symbol"]): number(row["qty"]) for row in rows},
        )

    def account(self) -> BrokerAccount:
        """Return the money."""
        return self._read(self._wire.account, read_account)

    def clock(self) -> BrokerClock:
        """Return the venue's time."""
        return self._read(self._wire.clock, read_clock)

    def assets(self, symbols: Sequence[str]) -> dict[str, BrokerAsset]:
        """Return what is allowed with symbols; one that cannot be traded now is halted."""
        single = self._settings.single_assets
        return self._read(lambda: fetch_assets(self._wire, self._ask, symbols, single), read_assets)

    def drain_updates(self) -> tuple[BrokerUpdate, ...]:
        """Return what happened since the last call: by the stream, and by the books when due.

        While the stream is down the books are read every `poll_every_s`, and once when it is back.
        """
        return self._updates.drain()

    def disconnected_s(self) -> float:
        """Return for how many seconds the stream has been down; for ever with a refused key."""
        if self._wire.is_key_refused or self._stream.is_key_refused:
            return float("inf")
        return self._stream.down_s

    def _ask(self, call: Callable[[], _Answer]) -> _Answer:
        """Ask for something that asking does not change: a lost answer is asked for again."""
        for left in reversed(range(self._settings.read_attempts)):
            try:
                return call()
            except AnswerLostError as e:
                if not left:
                    raise self._unavailable(e) from e
            except _FAILURES as e:
                raise self._unavailable(e) from e
        raise AssertionError("unreachable")

    def _read(self, call: Callable[[], _Body], read: Callable[[_Body], _Answer]) -> _Answer:
        answer = self._ask(call)
        try:
            return read(answer)
        except _UNREADABLE as e:
            lost = AnswerLostError(f"an answer that cannot be read ({type(e).__name__})")
            raise self._unavailable(lost) from e

    def _unavailable(self, error: Exception) -> BrokerUnavailableError:
        return BrokerUnavailableError(
            "Alpaca must answer",
            was=self._wire.quote(error),
            where=self._settings.base_url,
            remedy="Nothing is assumed; look again"
            if not self._wire.is_key_refused
            else "Set a valid key pair and start again",
        )


def _refused(reason: str, code: str) -> SubmitReport:
    return SubmitReport(SubmitOutcome.REJECTED, reason=reason, code=code)
