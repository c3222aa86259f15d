"""The one list of callbacks that carries events of training and trading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tradingbot.domain.events.event import Event


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
