"""The stream of trade updates, kept open by a thread: patient, bounded, and never a second truth.

Alpaca does not repeat events that were missed, so every new connection calls for a look at the
books. A key that is refused ends the stream: the official client would try for ever.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections import deque
from threading import Event, Thread
from typing import Any

import numpy as np

from tradingbot.data.sources.pacing import Clock, RetryPolicy
from tradingbot.data.sources.vendors import AlpacaCredentials
from tradingbot.runtime.brokers.alpaca.access import AlpacaBrokerSettings

with warnings.catch_warnings():  # the client loads a deprecated module
    warnings.filterwarnings("ignore", "websockets", DeprecationWarning)
    from alpaca.trading.stream import TradingStream

_LONGEST_RECONNECT_S = 60.0
_REFUSALS = 2
"""After so many in a row the key is taken as revoked."""
_JOIN_S = 5.0
# At DEBUG the library writes every frame, the one with the key pair too.
_QUIET = logging.Logger("tradingbot.alpaca.stream", level=logging.CRITICAL)
_CONNECTION = {"ping_interval": 10, "ping_timeout": 20, "max_queue": 1024, "logger": _QUIET}


class UpdateStream:
    """Collects events until they are drained; `start` and `stop` it."""

    def __init__(
        self, credentials: AlpacaCredentials, settings: AlpacaBrokerSettings, clock: Clock
    ) -> None:
        self._credentials, self._settings, self._clock = credentials, settings, clock
        self._policy = RetryPolicy(
            first_wait_s=settings.first_reconnect_s,
            longest_wait_s=max(settings.first_reconnect_s, _LONGEST_RECONNECT_S),
        )
        self._rng = np.random.default_rng()
        self._events: deque[dict[str, Any]] = deque()
        self._thread: Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = Event()
        self._down_since: float | None = clock.monotonic()
        self.connections = 0
        """How often it was opened: a new one may have missed something."""
        self.attempts = 0
        self.is_key_refused = False

    def start(self) -> None:
        """Begin to listen, in a thread of its own."""
        self._thread = Thread(target=self._run_thread, name="alpaca-stream", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close the connection and end the thread."""
        self._stopping.set()
        loop, task = self._loop, self._task
        if loop is not None and task is not None and not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel)
        if self._thread is not None:
            self._thread.join(_JOIN_S)

    def drain(self) -> list[dict[str, Any]]:
        """Return the events since the last call, in the order in which they came."""
        return [self._events.popleft() for _ in range(len(self._events))]

    @property
    def down_s(self) -> float:
        """Seconds for which it has been down; 0 while it is up."""
        since = self._down_since
        return 0.0 if since is None else self._clock.monotonic() - since

    def _run_thread(self) -> None:
        try:
            asyncio.run(self._keep_open())
        except asyncio.CancelledError:
            pass
        finally:
            self._mark_down()

    async def _keep_open(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        failures = refusals = 0
        while not self._stopping.is_set():
            before = self.connections
            refused = await self._listen_once()
            failures = 0 if self.connections > before else failures
            refusals = refusals + 1 if refused else 0
            if refusals >= _REFUSALS:
                self.is_key_refused = True
                return
            failures += 1
            await asyncio.sleep(self._policy.wait_s(failures, None, self._rng))

    async def _listen_once(self) -> bool:
        """Open a connection and listen until it breaks; returns whether the key was refused."""
        stream: Any = TradingStream(  # its parts have no types
            self._credentials.key_id,
            self._credentials.secret_key,
            paper=True,
            raw_data=True,
            url_override=self._settings.stream_url,
            websocket_params=_CONNECTION,
        )
        stream.subscribe_trade_updates(self._take)
        self.attempts += 1
        is_open = False
        try:
            # One connection of the client's endless loop: how often is decided here.
            await stream._connect()
            try:
                await stream._auth()
            except ValueError:
                return True
            await stream._subscribe_trade_updates()
            is_open = True
            self.connections += 1
            self._down_since = None
            await stream._consume()
        except Exception:
            # Whatever broke it: what matters is that it is down, and the books are read instead.
            return False
        finally:
            if is_open:
                self._mark_down()
            await self._close(stream)
        return False

    @staticmethod
    async def _close(stream: Any) -> None:
        try:
            await asyncio.wait_for(stream.close(), 1.0)
        except Exception:
            return

    async def _take(self, message: dict[str, Any]) -> None:
        data = message.get("data")
        self._events.append(data if isinstance(data, dict) else {})

    def _mark_down(self) -> None:
        if self._down_since is None:
            self._down_since = self._clock.monotonic()
