"""How fast and how often we ask a vendor: token bucket, bounded retries, an injected clock.

Nothing here knows a vendor or a protocol.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

import numpy as np

from tradingbot.domain.errors import ConfigError, SourceError

_Answer = TypeVar("_Answer")


def utc_now() -> datetime:
    """Return the wall-clock time, aware, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Clock:
    """The three things a download needs of time; replaced as a whole in tests."""

    monotonic: Callable[[], float] = time.monotonic
    """Seconds that never run backwards."""
    sleep: Callable[[float], None] = time.sleep
    """Wait so many seconds."""
    now: Callable[[], datetime] = utc_now
    """Wall-clock time, aware, UTC."""


class TokenBucket:
    """Lets requests through at a steady rate.

    With the default capacity of one token requests are evenly spaced, so no minute, wherever it
    begins, holds more than `per_minute` of them.
    """

    def __init__(self, per_minute: float, clock: Clock, *, capacity: int = 1) -> None:
        """Start full.

        Raises:
            ConfigError: If the rate or the capacity would let nothing through.
        """
        if not per_minute > 0:
            raise ConfigError("requests per minute must be above 0", was=per_minute)
        if capacity < 1:
            raise ConfigError("bucket must hold a request", was=capacity)
        self._per_second = per_minute / 60
        self._capacity = capacity
        self._clock = clock
        self._tokens = float(capacity)
        self._filled_at = clock.monotonic()

    @property
    def remaining(self) -> int:
        """Requests that may be sent at once, as of the last one."""
        return int(self._tokens)

    @property
    def full_in_s(self) -> float:
        """Seconds until it is full again, as of the last request."""
        return (self._capacity - self._tokens) / self._per_second

    def take(self) -> None:
        """Wait until a request may be sent, and count it."""
        wait_s = self.try_take()
        if wait_s:
            self._clock.sleep(wait_s)
            self._fill()
            self._tokens -= 1

    def try_take(self) -> float:
        """Count a request if it may be sent now; return 0, or the seconds until one may be."""
        self._fill()
        if self._tokens < 1:
            return (1 - self._tokens) / self._per_second
        self._tokens -= 1
        return 0.0

    def _fill(self) -> None:
        now = self._clock.monotonic()
        grown = self._tokens + (now - self._filled_at) * self._per_second
        self._tokens, self._filled_at = min(self._capacity, grown), now


BROKEN_CONNECTION = "a connection that broke"
"""Reason of a `TransientFailure`: the line failed, or no server listens at the address."""


class TransientFailure(Exception):  # noqa: N818 - a failure that is not final, so no error yet
    """A request failed in a way that may pass: busy, broken line, not an answer.

    `retry_after_s` is the wait the vendor asked for, if it did.
    """

    def __init__(self, reason: str, *, retry_after_s: float | None = None) -> None:
        self.reason, self.retry_after_s = reason, retry_after_s
        super().__init__(reason)


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long we wait for a failing vendor."""

    attempts: int = 6
    """Requests in all, the first included."""
    first_wait_s: float = 1.0
    """Upper end of the first wait; doubles with each failure."""
    longest_wait_s: float = 60.0
    """No wait of our own is longer."""
    longest_asked_wait_s: float = 300.0
    """A vendor that asks for more is not waited for."""

    def __post_init__(self) -> None:
        """Refuse policies that would never ask or wait backwards."""
        if self.attempts < 1:
            raise ConfigError("attempts must be at least 1", was=self.attempts)
        if not 0 <= self.first_wait_s <= self.longest_wait_s:
            raise ConfigError(
                "first wait must lie between 0 and the longest wait", was=self.first_wait_s
            )

    def wait_s(self, failures: int, asked_s: float | None, rng: np.random.Generator) -> float:
        """Seconds to wait after so many failures: half fixed, half jitter, never below `asked_s`.

        Args:
            failures: Failed attempts so far, at least 1.
            asked_s: What the vendor asked for, if it did.
            rng: Stream the jitter is drawn from.
        """
        ceiling = min(self.longest_wait_s, self.first_wait_s * 2.0 ** (failures - 1))
        return max(asked_s or 0.0, ceiling * (0.5 + 0.5 * float(rng.random())))


_LATER = "Run the command again later"


@dataclass(frozen=True)
class Patience:
    """A retry policy with the clock and the random stream it runs on."""

    clock: Clock
    rng: np.random.Generator = field(repr=False)
    policy: RetryPolicy = field(default_factory=RetryPolicy)

    def ask(self, send: Callable[[], _Answer], *, vendor: str, where: str) -> _Answer:
        """Call `send` until it answers; wait after each `TransientFailure`.

        Raises:
            SourceError: After the last attempt, or when the vendor asks for too long a wait.
        """
        for failures in range(1, self.policy.attempts + 1):
            try:
                return send()
            except TransientFailure as e:
                limit, was = f"{failures} attempts", e.reason
                asks_too_much = (e.retry_after_s or 0) > self.policy.longest_asked_wait_s
                if asks_too_much:
                    limit = f"{self.policy.longest_asked_wait_s:g} s"
                    was += f", asks to wait {e.retry_after_s:g} s"
                if asks_too_much or failures == self.policy.attempts:
                    rule = f"{vendor} must answer within {limit}"
                    is_line = e.reason == BROKEN_CONNECTION
                    first = "Check the network, then run the command again" if is_line else _LATER
                    remedy = f"{first}; what was fetched is kept"
                    raise SourceError(rule, was=was, where=where, remedy=remedy) from e
                self.clock.sleep(self.policy.wait_s(failures, e.retry_after_s, self.rng))
        raise AssertionError("unreachable: the last attempt returns or raises")
