"""Requests per minute in two lanes: orders wait early, so that a cancel never does."""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from threading import Lock

from tradingbot.data.sources.pacing import Clock

_MINUTE_S = 60.0
_USUAL_PAUSE_S = 1.0


class Lane(StrEnum):
    """Which share of the requests one may use."""

    ORDINARY = "ordinary"
    URGENT = "urgent"
    """Cancels, and look-ups of orders whose answer was lost."""


class RateBudget:
    """Counts the requests of every window of 60 s exactly; safe to use from several threads."""

    def __init__(self, per_minute: int, reserved: int, clock: Clock) -> None:
        self._limits = {Lane.ORDINARY: per_minute - reserved, Lane.URGENT: per_minute}
        self._clock, self._lock = clock, Lock()
        self._sent: deque[float] = deque()
        self._pause_until = float("-inf")

    def take(self, lane: Lane, longest_wait_s: float) -> bool:
        """Wait for a free request and count it; False where that would take too long."""
        waited = 0.0
        while True:
            with self._lock:
                wait = self._wait_s(lane)
                if wait <= 0.0:
                    self._sent.append(self._clock.monotonic())
                    return True
            if waited + wait > longest_wait_s:
                return False
            waited += wait
            self._clock.sleep(wait)

    def pause(self, seconds: float) -> None:
        """Hold the ordinary lane back, after the venue said that it is asked too often."""
        with self._lock:
            self._pause_until = max(self._pause_until, self._clock.monotonic() + seconds)

    def _wait_s(self, lane: Lane) -> float:
        now = self._clock.monotonic()
        while self._sent and self._sent[0] + _MINUTE_S <= now:
            self._sent.popleft()
        wait = self._pause_until - now if lane is Lane.ORDINARY else 0.0
        excess = len(self._sent) - self._limits[lane]
        if excess >= 0:
            wait = max(wait, self._sent[excess] + _MINUTE_S - now)
        return wait


def read_pause_s(asked: str, longest_s: float) -> float:
    """Return for how long a venue asks to be left alone, of `Retry-After`; 1 s where it is none."""
    try:
        pause_s = float(asked)
    except ValueError:
        pause_s = _USUAL_PAUSE_S
    return min(max(pause_s, 0.0), longest_s)
