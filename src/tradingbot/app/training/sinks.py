"""Who listens to a training run: what a listener is, events as plain values, and lines for logs."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from typing import Any, Protocol

import torch

from tradingbot.app.console import as_json, print_note
from tradingbot.learning.trainer_events import (
    AgentsStopped,
    Began,
    Ended,
    Evaluated,
    Event,
    Intervened,
    Updated,
    Warned,
)

_SECONDS_BETWEEN_LINES = 10.0


class Sink(Protocol):
    """Takes events; never stops the training, whatever happens to it."""

    def take(self, event: Event) -> None:
        """Look at an event."""

    def close(self) -> None:
        """Say what is left to say, and give everything back."""


class Broadcast:
    """Tells every listener; who writes the run directory must come first."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = tuple(sinks)

    def take(self, event: Event) -> None:
        """Pass an event on."""
        for sink in self._sinks:
            sink.take(event)

    def close_others(self) -> None:
        """Close every listener but the first, whose owner closes it."""
        for sink in self._sinks[1:]:
            sink.close()


class EventLines:
    """One JSON object per event on stdout, for machines."""

    def take(self, event: Event) -> None:
        """Write the event."""
        write_json_line(event_values(event))

    def close(self) -> None:
        """Nothing is left open."""


class LogLines:
    """A line now and then on stderr, where there is no terminal."""

    def __init__(self) -> None:
        self._steps_per_agent, self._n_agents = 1, 1
        self._first_steps: int | None = None
        self._began = self._last = time.monotonic()

    def take(self, event: Event) -> None:
        """Say what is worth a line."""
        if isinstance(event, Began):
            self._n_agents, self._steps_per_agent = len(event.agents), event.steps_per_agent
            self._first_steps = event.steps
            print_note(f"train: {self._n_agents} agents, {event.steps:,} steps done before")
        elif isinstance(event, Updated):
            self._progress(event)
        elif text := describe_event(event):
            print_note(f"train: {text}")

    def close(self) -> None:
        """Nothing is left open."""

    def _progress(self, event: Updated) -> None:
        now = time.monotonic()
        if now - self._last < _SECONDS_BETWEEN_LINES:
            return
        self._last = now
        done = event.steps - (self._first_steps or 0)
        speed = done / max(now - self._began, 1e-9)
        left = (self._steps_per_agent - event.steps) / max(speed, 1e-9)
        print_note(
            f"train: {event.steps:,} of {self._steps_per_agent:,} steps per agent, "
            f"{speed * self._n_agents:,.0f} steps/s, about {left:,.0f} s left"
        )


def write_json_line(value: object) -> None:
    """Write a value to stdout as one line of JSON."""
    sys.stdout.write(json.dumps(as_json(value), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def describe_event(event: Event) -> str | None:
    """Say an event in words; None where nothing is worth saying."""
    if isinstance(event, Evaluated):
        best = ", the best so far" if event.is_best else ""
        score = f"score {event.mean_score:.3f} on the first half of validation"
        return f"update {event.sequence}: {score}{best}"
    if isinstance(event, Warned):
        more = f" (and {len(event.agents) - 1} more agents)" if len(event.agents) > 1 else ""
        return f"update {event.sequence}: {event.text}{more}"
    if isinstance(event, Intervened):
        return f"update {event.sequence}: {event.action.replace('_', ' ')}: {event.text}"
    if isinstance(event, AgentsStopped):
        return f"update {event.sequence}: stopped early: {', '.join(event.agents)}"
    if isinstance(event, Ended):
        return f"ended after update {event.sequence}: {event.ending.replace('_', ' ')}"
    return None


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
