"""Events of training and trading: one list of callbacks, plain values, and back."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar

import pytest

from fixtures.journals import SESSION_EVENTS
from fixtures.order_records import AT, accepted, fill, intent
from tradingbot.domain.errors import DataError
from tradingbot.domain.events import trading, training
from tradingbot.domain.events.catalogue import EVENTS
from tradingbot.domain.events.event import CallbackList, Event, event_values, read_event
from tradingbot.domain.order_intent import OrderType, Side
from tradingbot.domain.trading_state import TradingState, TradingStateChange

ORDER = accepted()
LIMIT = intent(
    "1.5", Side.SELL, order_type=OrderType.LIMIT, limit_price=Decimal("99.01"), confidence=0.7
)
AT_VENUE: dict[str, Any] = {"client_order_id": ORDER.client_order_id, "symbol": "SPY", "at": AT}
EXAMPLES: tuple[Event, ...] = (
    training.Began(("SPY", "QQQ"), 0, 1_000),
    training.Updated(3, 2, 600, {"policy/entropy": [0.5, 0.7], "guard/finite": 1.0}, 0.25),
    training.Evaluated(3, 600, {"sharpe": [1.0, -1.0], "histogram": [[1.0], [0.0]]}, 0.0, True),
    training.Warned(3, "critical ALL_HOLD: agent QQQ does nothing.", ("QQQ",)),
    training.Intervened(3, "roll_back", "Back at update 1."),
    training.AgentsStopped(3, ("QQQ",)),
    training.SleevesCompared(3, ("SPY", "QQQ"), {"frozen": [0.1, 0.2], "kept": [1.0, 0.0]}),
    training.Saved(3, ("last", "healthy")),
    training.Ended(9, 1_000, "budget", 0.3, 1),
    trading.OrderDenied(LIMIT, "MAX_POSITION: limit=15000 observed=17250"),
    trading.OrderSubmitted(intent(), AT),
    trading.OrderAccepted(**AT_VENUE, venue_order_id="904837e3"),
    trading.OrderRejected(**AT_VENUE, reason="insufficient buying power"),
    trading.OrderCancelled(**AT_VENUE, filled_units=Decimal("0.1")),
    trading.OrderExpired(**AT_VENUE, filled_units=Decimal(0)),
    trading.OrderFilled(fill(ORDER, "4"), remaining_units=Decimal(6)),
    trading.FillBusted(fill(ORDER, "4"), AT),
    trading.StockSplitApplied("SPY", 3, 2, AT),
    trading.TradingStateChanged(
        TradingStateChange(TradingState.ACTIVE, TradingState.HALTED, "daily loss"), AT
    ),
    *SESSION_EVENTS,
)


def test_every_kind_has_an_example_here() -> None:
    assert {type(example) for example in EXAMPLES} == set(EVENTS.values())
    assert len(EXAMPLES) == len(EVENTS)


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: event.kind)
def test_event_comes_back_from_json_as_it_was(event: Event) -> None:
    text = json.dumps(event_values(event), allow_nan=False)

    assert read_event(json.loads(text), EVENTS) == event
    assert json.loads(text)["event"] == event.kind == type(event).__name__
    assert "version" not in json.loads(text)  # of the first version, as journals always were


def test_exact_numbers_and_times_are_text() -> None:
    values = event_values(trading.OrderDenied(LIMIT, "MAX_POSITION"))

    assert values["intent"]["quantity_units"] == "1.5"
    assert values["intent"]["limit_price"] == "99.01"
    assert values["intent"]["decided_at"] == "2026-01-05T15:30:00+00:00"
    assert values["intent"]["side"] == "sell"


def test_row_of_a_journal_without_wall_time_and_with_null_is_read() -> None:
    event = training.Updated(3, 2, 600, {"loss": [math.nan, 1.0]}, 0.25)
    row = event_values(event, with_time=False)
    assert "seconds" not in row
    row["metrics"] = {"loss": [None, 1.0]}  # as journals write NaN

    read = read_event(row, EVENTS)

    assert isinstance(read, training.Updated)
    assert math.isnan(read.seconds)
    assert math.isnan(read.metrics["loss"][0])
    never = event_values(training.Evaluated(1, 2, {}, math.nan, False)) | {"mean_score": None}
    evaluated = read_event(never, EVENTS)
    assert isinstance(evaluated, training.Evaluated)
    assert math.isnan(evaluated.mean_score)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"event": "OrderDenid"}, "known kind, was 'OrderDenid'. Did you mean 'OrderDenied'"),
        ({"event": None}, "known kind, was None"),
        ({"version": 2}, r"version of the event must be 1 to 1, was 2 \(OrderCancelled\)"),
        ({"version": "new"}, "must be 1 to 1"),
        ({"filled": "1"}, "key must be known in section 'OrderCancelled'"),
        ({"symbol": 5}, "OrderCancelled.symbol must be text, was 5"),
        ({"at": "yesterday"}, "OrderCancelled.at must be a time as ISO 8601 writes it"),
        ({"filled_units": "many"}, "OrderCancelled.filled_units must be an exact number as text"),
    ],
)
def test_values_that_are_no_event_are_refused(change: dict[str, Any], message: str) -> None:
    values = event_values(trading.OrderCancelled(**AT_VENUE, filled_units=Decimal(1)))

    with pytest.raises(DataError, match=message):
        read_event(values | change, EVENTS)


def test_missing_field_and_unknown_member_are_refused() -> None:
    values = event_values(trading.OrderSubmitted(intent(), AT))
    with pytest.raises(DataError, match=r"OrderSubmitted\.submitted_at must be given"):
        read_event({key: values[key] for key in ("event", "intent")}, EVENTS)
    values["intent"]["side"] = "long"
    with pytest.raises(DataError, match=r"intent.side must be one of buy, sell, was 'long'"):
        read_event(values, EVENTS)


def test_kind_of_a_later_version_says_so_and_still_reads_the_first() -> None:
    @dataclass(frozen=True)
    class Paused(Event):
        version: ClassVar[int] = 2
        reason: str = ""

    assert event_values(Paused("news")) == {"event": "Paused", "version": 2, "reason": "news"}
    for version in ({}, {"version": 1}, {"version": 2}):
        assert read_event({"event": "Paused", **version}, {"Paused": Paused}) == Paused()


class Rows:
    """A journal of everything."""

    def __init__(self, *, full_after: int | None = None) -> None:
        self.rows: list[str] = []
        self.full_after, self.closed = full_after, False

    def take(self, event: Event) -> None:
        if len(self.rows) == self.full_after:
            raise OSError("no space left")
        self.rows.append(json.dumps(event_values(event, with_time=False)))

    def close(self) -> None:
        self.closed = True


class Alerts:
    """Watches for what needs a person, of training and of trading alike."""

    def __init__(self) -> None:
        self.raised: list[str] = []

    def take(self, event: Event) -> None:
        if isinstance(event, training.Warned):
            self.raised.append(event.text)
        elif isinstance(event, trading.TradingStateChanged) and not event.change.loosens:
            self.raised.append(f"{event.change.after}: {event.change.reason}")

    def close(self) -> None:
        """Nothing is left open."""


def test_one_list_carries_training_and_trading_to_journal_and_alerts() -> None:
    journal, alerts = Rows(), Alerts()
    told = CallbackList((journal, alerts))
    for event in EXAMPLES:
        told.take(event)
    told.close_others()

    assert [read_event(json.loads(row), EVENTS).kind for row in journal.rows] == [
        event.kind for event in EXAMPLES
    ]
    assert alerts.raised == ["critical ALL_HOLD: agent QQQ does nothing.", "halted: daily loss"]
    assert not journal.closed  # its owner does that


def test_nothing_is_told_that_is_not_on_record() -> None:
    alerts = Alerts()
    told = CallbackList((Rows(full_after=3), alerts))
    for event in EXAMPLES[:3]:
        told.take(event)
    with pytest.raises(OSError, match="no space left"):
        told.take(EXAMPLES[3])

    assert alerts.raised == []


def test_time_of_an_event_is_that_of_the_data() -> None:
    eastern = datetime.fromisoformat("2026-01-05T10:30:00-05:00")
    event = trading.OrderSubmitted(intent(), eastern)
    read = read_event(event_values(event), EVENTS)

    assert isinstance(read, trading.OrderSubmitted)
    assert read.submitted_at == AT.astimezone(UTC)
