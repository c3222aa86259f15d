"""An entry of the journal: an event as canonical text, chained to the entry before it.

The hash covers the hash before, the number, the session and the content, so that no entry can be
changed, taken out, put in or moved without every hash after it changing too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import NamedTuple

from tradingbot.domain.errors import TradingError
from tradingbot.domain.events.catalogue import EVENTS
from tradingbot.domain.events.event import KIND, Event, event_values, read_event
from tradingbot.domain.events.session import DecisionMade
from tradingbot.domain.events.trading import FillBusted, OrderFilled, StockSplitApplied
from tradingbot.domain.order_intent import require_zone

FIRST_PREVIOUS = "0" * 64
"""What the first entry is chained to."""


class Head(NamedTuple):
    """The last entry of a chain: its number, 0 for an empty one, and its hash."""

    seq: int = 0
    sha256: str = FIRST_PREVIOUS


def write_content(event: Event) -> str:
    """Write an event as canonical JSON: one text for one event, in ASCII, without NUL.

    Floats are written by their shortest exact digits and come back bit for bit.

    Raises:
        TradingError: If a time has no zone or an amount is not finite.
    """
    require_exact_values(event, event.kind)
    return json.dumps(event_values(event), sort_keys=True, separators=(",", ":"))


def require_exact_values(value: object, where: str) -> None:
    """Refuse what would come back as something else: a time without a zone, money that is NaN.

    Raises:
        TradingError: Naming the kind of the event.
    """
    if isinstance(value, datetime):
        require_zone(value, "a time in the journal", where)
    elif isinstance(value, Decimal) and not value.is_finite():
        raise TradingError("money and units in the journal must be finite", was=value, where=where)
    elif is_dataclass(value):
        for each in fields(value):
            require_exact_values(getattr(value, each.name), where)
    elif isinstance(value, Mapping):
        for item in value.values():
            require_exact_values(item, where)


def read_content(content: str) -> Event:
    """Return the event that an entry holds.

    Raises:
        DataError: If it is of an unknown kind or a later version.
    """
    return read_event(json.loads(content), EVENTS)


def kind_of(content: str) -> str:
    """Return the kind of the event that an entry holds."""
    return str(json.loads(content)[KIND])


def chain(head: Head, session: str, content: str) -> Head:
    """Return the head of a chain after one more entry."""
    seq = head.seq + 1
    text = json.dumps([head.sha256, seq, session, content])
    return Head(seq, hashlib.sha256(text.encode()).hexdigest())


def entry_key(event: Event) -> str | None:
    """Return what there is only one of in a session, else None.

    That is a fill's id, the bar of a decision, the moment of a split.
    """
    if isinstance(event, OrderFilled | FillBusted):
        return event.fill.fill_id
    if isinstance(event, DecisionMade):
        moment = event.decided_at.astimezone(UTC).isoformat(timespec="microseconds")
        return json.dumps([event.model, event.symbol, moment, event.is_shadow])
    if isinstance(event, StockSplitApplied):
        return json.dumps([event.symbol, event.at.astimezone(UTC).isoformat()])
    return None


def is_replay(known: Event, again: Event) -> bool:
    """Tell whether two events under one key say the same; what is open may have moved on."""
    if isinstance(known, OrderFilled | FillBusted) and isinstance(again, OrderFilled | FillBusted):
        return known.fill == again.fill
    return known == again
