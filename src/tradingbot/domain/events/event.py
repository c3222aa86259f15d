"""What an event is, as a record and as plain values.

Plain values are one mapping: `event` names the kind, `version` stands from version 2 of a kind on,
the rest are its fields. Times of day are never part of an event by themselves: a field that holds
a time got it from the data, and a field that holds wall time says so and can be left out.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from tradingbot.domain.errors import DataError, suggest
from tradingbot.domain.plain_values import as_plain_values, read_record, type_hints

KIND, VERSION = "event", "version"
_WALL_TIME = "wall_time"

Figures = Mapping[str, Any]
"""Name → number, or lists of numbers: (N,), () or (N, bins) as nested lists."""


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that happened; kinds are frozen dataclasses of plain values."""

    version: ClassVar[int] = 1
    """Raised when the fields of a kind change their meaning."""

    @property
    def kind(self) -> str:
        """Name of the kind."""
        return type(self).__name__


def wall_time() -> Any:
    """Declare a field that holds measured seconds: part of no result, NaN where it was left out."""
    return dataclasses.field(default=math.nan, metadata={_WALL_TIME: True})


def event_values(event: Event, *, with_time: bool = True) -> dict[str, Any]:
    """Return an event as plain values; NaN stays NaN.

    Args:
        event: Any.
        with_time: Keep wall times, which are part of no result.
    """
    values: dict[str, Any] = {KIND: event.kind}
    if event.version > 1:
        values[VERSION] = event.version
    for field in dataclasses.fields(event):
        if with_time or not field.metadata.get(_WALL_TIME):
            values[field.name] = as_plain_values(getattr(event, field.name), keep_non_finite=True)
    return values


def read_event(values: Mapping[str, Any], kinds: Mapping[str, type[Event]]) -> Event:
    """Return the event that plain values describe; null where a number stands is NaN.

    Args:
        values: What `event_values` returned, or a row of a journal.
        kinds: Name → class of every kind that may occur: `catalogue.EVENTS`.

    Raises:
        DataError: If the kind is unknown, was written by a later version, or a field is unknown,
            missing or of another kind.
    """
    name, version = values.get(KIND), values.get(VERSION, 1)
    if name not in kinds:
        remedy = suggest(str(name), kinds)
        raise DataError("event must be of a known kind", was=repr(name)[:60], remedy=remedy)
    kind = kinds[str(name)]
    if version not in range(1, kind.version + 1):
        raise DataError(
            f"version of the event must be 1 to {kind.version}",
            was=repr(version)[:60],
            where=str(name),
            remedy="Read it with the version of the program that wrote it",
        )
    hints = type_hints(kind)
    fields = {
        key: _with_nan(hints.get(key), value)
        for key, value in values.items()
        if key not in (KIND, VERSION)
    }
    return read_record(kind, fields, name=str(name), error=DataError)


def _with_nan(hint: Any, value: Any) -> Any:
    """Read null as NaN where numbers stand."""
    if hint is float:
        return math.nan if value is None else value
    if hint == Figures and isinstance(value, Mapping):
        return {name: _figure(item) for name, item in value.items()}
    return value


def _figure(value: Any) -> Any:
    if isinstance(value, list):
        return [_figure(item) for item in value]
    return math.nan if value is None else value


class EventCallback(Protocol):
    """Takes events; one that it does not know is passed over. It never stops what it watches."""

    def take(self, event: Event) -> None:
        """Look at an event."""

    def close(self) -> None:
        """Say what is left to say, and give everything back."""


class CallbackList:
    """Passes events to every callback; the one that writes the journal comes first.

    First, because nothing may be shown or traded on that is not on record: where writing fails,
    the others are not told.
    """

    def __init__(self, callbacks: Sequence[EventCallback]) -> None:
        self._callbacks = tuple(callbacks)

    def take(self, event: Event) -> None:
        """Pass an event on."""
        for callback in self._callbacks:
            callback.take(event)

    def close_others(self) -> None:
        """Close every callback but the first, whose owner closes it."""
        for callback in self._callbacks[1:]:
            callback.close()
