"""Events of a training run as lines: JSON for machines, words for logs."""

from __future__ import annotations

import json
import sys
import time

from tradingbot.app.console import print_note
from tradingbot.data.json_files import as_json
from tradingbot.domain.events import training
from tradingbot.domain.events.event import Event, event_values

_SECONDS_BETWEEN_LINES = 10.0


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
        if isinstance(event, training.Began):
            self._n_agents, self._steps_per_agent = len(event.agents), event.steps_per_agent
            self._first_steps = event.steps
            print_note(f"train: {self._n_agents} agents, {event.steps:,} steps done before")
        elif isinstance(event, training.Updated):
            self._progress(event)
        elif text := describe_event(event):
            print_note(f"train: {text}")

    def close(self) -> None:
        """Nothing is left open."""

    def _progress(self, event: training.Updated) -> None:
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
    if isinstance(event, training.Evaluated):
        best = ", the best so far" if event.is_best else ""
        score = f"score {event.mean_score:.3f} on the first half of validation"
        return f"update {event.sequence}: {score}{best}"
    if isinstance(event, training.Warned):
        more = f" (and {len(event.agents) - 1} more agents)" if len(event.agents) > 1 else ""
        return f"update {event.sequence}: {event.text}{more}"
    if isinstance(event, training.Intervened):
        return f"update {event.sequence}: {event.action.replace('_', ' ')}: {event.text}"
    if isinstance(event, training.AgentsStopped):
        return f"update {event.sequence}: stopped early: {', '.join(event.agents)}"
    if isinstance(event, training.SleevesCompared):
        kept, n = int(sum(event.figures["kept"])), len(event.agents)
        gained = sum(event.figures["difference"]) / n
        return (
            f"after update {event.updates}: sleeves' agents learned, mean alpha {gained:+.2f} bp "
            f"per bar beside their frozen selves; {kept} of {n} kept, others rolled back"
        )
    if isinstance(event, training.Ended):
        return f"ended after update {event.sequence}: {event.ending.replace('_', ' ')}"
    return None
