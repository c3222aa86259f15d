"""How much is let in: requests per key by token buckets, predictions by threads that are free."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from fastapi import Request

from tradingbot.data.sources.pacing import Clock, TokenBucket
from tradingbot.serving.server.metrics import ServerMetrics
from tradingbot.serving.server.problems import Problem, shed
from tradingbot.serving.server.settings import ServerSettings

R = TypeVar("R")
BUSY = shed("busy", "all threads are busy")
"""What is answered where no thread is free."""


class RateLimits:
    """One bucket for each key."""

    def __init__(self, settings: ServerSettings, clock: Clock | None = None) -> None:
        self._settings, self._clock = settings, clock or Clock()
        self._buckets: dict[str, TokenBucket] = {}

    def take(self, caller: str) -> dict[str, str]:
        """Count a request; return the headers that say what is left.

        Raises:
            Problem: 429, with the seconds to wait.
        """
        told, bucket = self._settings, self._buckets.get(caller)
        if bucket is None:
            bucket = TokenBucket(60 * told.rate_per_s, self._clock, capacity=told.burst)
            self._buckets[caller] = bucket
        wait_s = bucket.try_take()
        headers = {
            "ratelimit-limit": str(told.burst),
            "ratelimit-remaining": str(bucket.remaining),
            "ratelimit-reset": str(math.ceil(bucket.full_in_s)),
        }
        if wait_s:
            headers["retry-after"] = str(math.ceil(wait_s))
            rate = f"{told.rate_per_s:g} requests a second, {told.burst} at once"
            raise Problem(429, "rate", f"a key may make {rate}", headers=headers)
        return headers


class InferencePool:
    """Threads that predict; what finds none free, and no place to wait, is shed at once."""

    def __init__(self, settings: ServerSettings, metrics: ServerMetrics) -> None:
        self._most = settings.threads + settings.waiting
        self._pool = ThreadPoolExecutor(settings.threads, thread_name_prefix="inference")
        self._metrics = metrics
        self.n_inside = 0
        self._n_promised = 0

    @property
    def is_full(self) -> bool:
        """Whether the next prediction would be shed."""
        return self.n_inside >= self._most

    def reserve(self) -> bool:
        """Promise a place to a request that has just arrived, where one is free.

        Many may arrive at once: each would find a free thread before the first is parsed.
        """
        if max(self.n_inside, self._n_promised) >= self._most:
            return False
        self._n_promised += 1
        return True

    def release(self) -> None:
        """Take a promise back: the request was answered, or its client went away."""
        self._n_promised -= 1

    def require_place(self) -> None:
        """Refuse before a body is read where none is free now.

        Raises:
            Problem: 503, with the seconds to wait.
        """
        if self.is_full:
            self._metrics.shed.labels("busy").inc()
            raise BUSY

    async def run(self, request: Request, work: Callable[[], R]) -> R:
        """Do work on a thread; forget it where the client goes away before it began.

        Raises:
            Problem: 503, where no place is free.
        """
        with self._place():
            doing = asyncio.get_running_loop().run_in_executor(self._pool, work)
            gone = asyncio.ensure_future(_disconnected(request))
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


async def _disconnected(request: Request) -> None:
    """Return when the client goes away; a body that was not read is passed over."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
