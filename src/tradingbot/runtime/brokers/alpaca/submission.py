"""Sending one order so that there is at most one of it, and an honest word about what is known."""

from __future__ import annotations

from enum import StrEnum

from tradingbot.data.sources.pacing import Clock
from tradingbot.domain.order import OrderStatus
from tradingbot.domain.order_intent import OrderIntent
from tradingbot.runtime.brokers.alpaca.access import AlpacaBrokerSettings
from tradingbot.runtime.brokers.alpaca.reading import SymbolNames, read_order
from tradingbot.runtime.brokers.alpaca.wire import (
    AnswerLostError,
    KeyRefusedError,
    TooManyRequestsError,
    TradingWire,
    VenueRefusalError,
)
from tradingbot.runtime.brokers.protocol import BrokerOrder, SubmitOutcome, SubmitReport

_SAYINGS = 2
"""How often the venue must say that it does not know an id before it is sent again."""


class _Found(StrEnum):
    """What looking an order up came to."""

    THERE = "there"
    NOT_THERE = "not there"
    UNCLEAR = "unclear"


class Submission:
    """One order on its way."""

    def __init__(
        self,
        wire: TradingWire,
        names: SymbolNames,
        settings: AlpacaBrokerSettings,
        clock: Clock,
        intent: OrderIntent,
    ) -> None:
        self._wire, self._names, self._settings = wire, names, settings
        self._clock, self._intent = clock, intent
        self.order: BrokerOrder | None = None
        """As the venue has it; None where it is not known to have it."""
        self.was_lost = False
        """Whether an answer was lost on the way."""
        self._reason = "not sent"
        self._deadline = float("inf")
        """From the first lost answer on; the wait for a free request does not count."""

    def send(self) -> SubmitReport:
        """Send it, settle lost answers, and say how it ended."""
        for attempt in range(self._settings.submit_attempts):
            if attempt and self._is_late():
                break
            report = self._send_once()
            if report is not None:
                return report
        if self.was_lost:
            return self._unknown()
        return SubmitReport(SubmitOutcome.REJECTED, reason=self._reason, code="rate_limited")

    def _send_once(self) -> SubmitReport | None:
        """Send it once; None where it may be sent again."""
        try:
            body = self._wire.submit(self._intent)
            self.order = read_order(body, self._names)
            return self._adopt()
        except TooManyRequestsError as e:
            self._reason = str(e)  # nothing was done; the budget holds the next one back
            return None
        except AnswerLostError as e:
            self._reason = str(e)
            self._begin_settling()
            return self._settle()
        except VenueRefusalError as e:
            return self._judge_refusal(e)

    def _judge_refusal(self, refusal: VenueRefusalError) -> SubmitReport:
        self._reason = refusal.message
        if refusal.is_id_taken:
            self._begin_settling()
            found = self._look_up()
            return self._adopt() if found is _Found.THERE else self._unknown()
        if self.was_lost:
            # A request before this one may still arrive: only the books will tell.
            return self._unknown()
        code = f"http_{refusal.status}" if refusal.code is None else str(refusal.code)
        code = "key_refused" if isinstance(refusal, KeyRefusedError) else code
        return SubmitReport(SubmitOutcome.REJECTED, reason=refusal.message, code=code)

    def _begin_settling(self) -> None:
        if not self.was_lost:
            self.was_lost = True
            self._deadline = self._clock.monotonic() + self._settings.settle_within_s

    def _settle(self) -> SubmitReport | None:
        """Find out what a lost answer was about; None where it may be sent again."""
        found = self._look_up()
        if found is _Found.THERE:
            return self._adopt()
        return None if found is _Found.NOT_THERE else self._unknown()

    def _look_up(self) -> _Found:
        sayings = 0
        for attempt in range(self._settings.lookup_attempts):
            if attempt and self._is_late():
                break
            self._clock.sleep(self._settings.lookup_wait_s)
            try:
                body = self._wire.find(self._intent.client_order_id)
                self.order = read_order(body, self._names)
                return _Found.THERE
            except (AnswerLostError, TooManyRequestsError):
                continue
            except VenueRefusalError as e:
                sayings += e.is_unknown_order
                if sayings >= _SAYINGS:
                    return _Found.NOT_THERE
                if not e.is_unknown_order:
                    return _Found.UNCLEAR
        return _Found.UNCLEAR

    def _adopt(self) -> SubmitReport:
        """Report the order that the venue has under our id."""
        order, intent = self.order, self._intent
        assert order is not None
        ours = (intent.symbol, intent.side, intent.quantity_units)
        if (order.symbol, order.side, order.quantity_units) != ours:
            self.order = None
            reason = f"{intent.client_order_id} is the id of another order at the venue"
            return SubmitReport(SubmitOutcome.REJECTED, reason=reason, code="id_taken")
        if order.status is OrderStatus.REJECTED:
            reason, venue_id = "rejected by the venue", order.venue_order_id
            return SubmitReport(SubmitOutcome.REJECTED, venue_id, reason, code="rejected")
        return SubmitReport(SubmitOutcome.ACCEPTED, order.venue_order_id)

    def _is_late(self) -> bool:
        return self._clock.monotonic() >= self._deadline

    def _unknown(self) -> SubmitReport:
        return SubmitReport(SubmitOutcome.UNKNOWN, reason=self._reason)
