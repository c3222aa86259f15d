"""How much is let in: requests per key by token buckets, predictions by threads that are free."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from fastapi import Request

from tradingbot.serving.server.metrics import ServerMetrics
from tradingbot.serving.server.problems import Problem, shed
from tradingbot.serving.server.settings import ServerSettings

R = TypeVar("R")


class TokenBucket:
    """So many requests at once, and so many a second for long."""

    def __init__(self, rate_per_s: float, burst: int, *, now: float) -> None:
        self._rate, self._burst = rate_per_s, float(burst)
        self._left, self._at = float(burst), now

    def take(self, now: float) -> float:
        """Take one token; return 0, or the seconds after which there is one."""
        self._left = min(self._burst, self._left + max(now - self._at, 0.0) * self._rate)
        self._at = now
        if self._left < 1.0:
            return (1.0 - self._left) / self._rate
        self._left -= 1.0
        return 0.0

    def headers(self) -> dict[str, str]:
        """Return what a client is told of it."""
        return {
            "ratelimit-limit": f"{self._burst:.0f}",
            "ratelimit-remaining": f"{math.floor(self._left)}",
            "ratelimit-reset": f"{math.ceil((self._burst - self._left) / self._rate)}",
        }


class RateLimits:
    """One bucket for each key."""

    def __init__(self, settings: ServerSettings, clock: Callable[[], float]) -> None:
        self._settings, self._clock = settings, clock
        self._buckets: dict[str, TokenBucket] = {}

    def take(self, caller: str) -> dict[str, str]:
        """Count a request; return the headers that say what is left.

        Raises:
            Problem: 429, with the seconds to wait.
        """
        now = self._clock()
        bucket = self._buckets.get(caller)
        if bucket is None:
            told = self._settings
            bucket = self._buckets[caller] = TokenBucket(told.rate_per_s, told.burst, now=now)
        wait_s = bucket.take(now)
        headers = bucket.headers()
        if wait_s:
            headers["retry-after"] = str(math.ceil(wait_s))
            rate = f"{self._settings.rate_per_s:g} a second, {self._settings.burst} at once"
            raise Problem(429, "rate", f"a key may make {rate}", headers=headers)
        return headers


class InferencePool:
    """Threads that predict; what finds none free, and no place to wait, is shed at once."""

    def __init__(self, settings: ServerSettings, metrics: ServerMetrics) -> None:
        self._most = settings.threads + settings.waiting
        self._pool = ThreadPoolExecutor(settings.threads, thread_name_prefix="inference")
        self._metrics = metrics
        self.n_inside = 0

    def require_place(self) -> None:
        """Refuse before a body is read where none is free now.

        Raises:
            Problem: 503, with the seconds to wait.
        """
        if self.n_inside >= self._most:
            self._metrics.shed.labels("busy").inc()
            raise shed("busy", "all threads are busy")

    async def run(self, request: Request, work: Callable[[], R]) -> R:
        """Do work on a thread; forget it where the client goes away before it began.

        Raises:
            Problem: 503, where no place is free.
        """
        with self._place():
            doing = asyncio.get_running_loop().run_in_executor(self._pool, work)
            gone = asyncio.ensure_future(request.receive())
            try:
                await asyncio.wait((doing, gone), return_when=asyncio.FIRST_COMPLETED)
                if not doing.done() and doing.cancel():
                    self._metrics.shed.labels("disconnected").inc()
                    raise Problem(400, "disconnected", "the client went away")
                return await doing
            finally:
                gone.cancel()

    def close(self) -> None:
        """End the threads after what they are at."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    @contextmanager
    def _place(self) -> Iterator[None]:
        self.require_place()
        self.n_inside += 1
        self._metrics.in_flight.set(self.n_inside)
        try:
            yield
        finally:
            self.n_inside -= 1
            self._metrics.in_flight.set(self.n_inside)
