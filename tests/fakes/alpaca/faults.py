"""Faults of the venue, by order or by a seeded schedule; none by default.

A request's fault says two things: whether the venue does what it was asked, and how it answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

HTML = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
UNKNOWN_STATUS = "quantum_hold"


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request."""

    acts: bool
    """Whether the venue does what it was asked."""
    answer: str
    """`drop`: the line breaks; `hang`: silence; `late`: silence, and it acts after a while; `cut`:
    half a body; `empty`: none; `html`: a page; `status`: JSON; `unknown`: a status no one knows."""
    status: int = 200
    body: bytes = b""


def _error(status: int, message: str) -> bytes:
    return f'{{"code":{status}10000,"message":"{message}"}}'.encode()


FAULTS: dict[str, Fault] = {
    "drop_before": Fault(False, "drop"),
    "drop_after": Fault(True, "drop"),
    "hang_before": Fault(False, "hang"),
    "hang_after": Fault(True, "hang"),
    "late_accept": Fault(False, "late"),
    "429": Fault(False, "status", 429, _error(429, "rate limit exceeded")),
    "500": Fault(False, "status", 500, _error(500, "internal server error occurred")),
    "500_after": Fault(True, "status", 500, _error(500, "internal server error occurred")),
    "502_html": Fault(False, "html", 502, HTML),
    "502_html_after": Fault(True, "html", 502, HTML),
    "504_before": Fault(False, "html", 504, HTML),
    "504_after": Fault(True, "html", 504, HTML),
    "504_json_after": Fault(True, "status", 504, _error(504, "upstream timed out")),
    "cut_after": Fault(True, "cut"),
    "empty_after": Fault(True, "empty"),
    "html_200_after": Fault(True, "html", 200, HTML),
    "unknown_status": Fault(True, "unknown"),
}
OPERATIONS = (
    *("submit", "find", "order", "orders", "cancel", "cancel_all", "replace", "positions"),
    *("close", "account", "clock", "asset", "activities", "data", "other"),
)


@dataclass
class FaultSchedule:
    """Chances of faults per request, drawn from a seed."""

    rates: Mapping[str, float]
    operations: tuple[str, ...] = ("submit",)
    seed: int = 0

    def __post_init__(self) -> None:
        unknown = set(self.rates) - set(FAULTS) | set(self.operations) - set(OPERATIONS)
        if unknown:
            raise ValueError(f"unknown faults or operations: {sorted(unknown)}")
        self._names = tuple(self.rates)
        self._edges = np.cumsum([self.rates[name] for name in self._names])
        self._rng = np.random.default_rng(self.seed)

    def draw(self, operation: str) -> str | None:
        if operation not in self.operations:
            return None
        k = int(np.searchsorted(self._edges, self._rng.random(), side="right"))
        return self._names[k] if k < len(self._names) else None


@dataclass
class FaultPlan:
    """Every knob of what may go wrong."""

    latency_s: float = 0.0
    late_s: float = 0.1
    """After how long `late_accept` acts."""
    schedule: FaultSchedule | None = None
    requests_per_minute: int | None = 200
    rate_window_s: float = 60.0
    is_revoked: bool = False
    """Whether the key pair is refused, by REST and stream."""
    refuses_streams: bool = False
    lost: float = 0.0
    doubled: float = 0.0
    swapped: float = 0.0
    """Chances that an event of the stream is lost, sent twice, or sent after the next one."""
    stream_seed: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    """How often each fault struck."""
    _next: dict[str, deque[str]] = field(default_factory=dict)
    _next_events: deque[str] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._stream_rng = np.random.default_rng(self.stream_seed)

    def strike_next(self, operation: str, fault: str, times: int = 1) -> None:
        """Let the next requests of a kind fail."""
        if fault not in FAULTS or operation not in (*OPERATIONS, "any"):
            raise ValueError(f"unknown fault {fault!r} or operation {operation!r}")
        self._next.setdefault(operation, deque()).extend([fault] * times)

    def strike_next_events(self, what: Iterable[str]) -> None:
        """Let the next events of the stream be `lost`, `doubled`, `swapped` or `sent`."""
        self._next_events.extend(what)

    def draw(self, operation: str) -> Fault | None:
        """Return the fault of a request, if it has one."""
        name = None
        for queue in (self._next.get(operation), self._next.get("any")):
            if queue and name is None:
                name = queue.popleft()
        if name is None and self.schedule is not None:
            name = self.schedule.draw(operation)
        if name is None:
            return None
        self.counts[name] = self.counts.get(name, 0) + 1
        return FAULTS[name]

    def draw_event(self) -> str:
        """Return what happens to an event of the stream."""
        if self._next_events:
            return self._next_events.popleft()
        chance = self._stream_rng.random()
        for what in ("lost", "doubled", "swapped"):
            rate = getattr(self, what)
            if chance < rate:
                return what
            chance -= rate
        return "sent"

    def change(self, body: Mapping[str, Any]) -> None:
        """Set knobs from an admin request."""
        for name, value in body.items():
            if name == "next":
                for each in value:
                    self.strike_next(each["operation"], each["fault"], each.get("times", 1))
            elif name == "next_events":
                self.strike_next_events(value)
            elif name == "schedule":
                self.schedule = None if value is None else _schedule(value)
            elif name in _KNOBS:
                setattr(self, name, value)
            else:
                raise ValueError(f"unknown knob {name!r}")


def _schedule(value: Mapping[str, Any]) -> FaultSchedule:
    operations = tuple(value.get("operations", ("submit",)))
    return FaultSchedule(value["rates"], operations, int(value.get("seed", 0)))


_KNOBS = frozenset(
    {"latency_s", "late_s", "requests_per_minute", "rate_window_s", "is_revoked"}
    | {"refuses_streams", "lost", "doubled", "swapped"}
)
