"""Callbacks of a training run: what they take, and events as plain values."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

import torch

from tradingbot.learning.trainer_events import Event


class EventCallback(Protocol):
    """Takes events; never stops the training, whatever happens to it."""

    def take(self, event: Event) -> None:
        """Look at an event."""

    def close(self) -> None:
        """Say what is left to say, and give everything back."""


class CallbackList:
    """Passes events to every callback; the one that writes the run directory comes first."""

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


def event_values(event: Event, *, with_time: bool = True) -> dict[str, Any]:
    """Return an event as plain values; tensors become lists.

    Args:
        event: Any.
        with_time: Keep wall times, which are part of no result.
    """
    values: dict[str, Any] = {"event": type(event).__name__}
    for field in dataclasses.fields(event):
        if field.name == "seconds" and not with_time:
            continue
        values[field.name] = _plain(getattr(event, field.name))
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return list(value) if isinstance(value, tuple) else value
