"""The fake Alpaca in a thread of this process, with handles for tests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from fakes.alpaca.faults import FaultPlan
from fakes.alpaca.server import Connection, Desk
from fakes.alpaca.venue import Venue, VenueOptions
from fixtures.alpaca_server import KEY_ID, SECRET_KEY

_Answer = TypeVar("_Answer")


class FakeAlpaca:
    """A faithful local Alpaca paper account on a free loopback port; use as a context manager.

    Args:
        options: How it behaves when nothing fails.
        plan: What may fail.
        store: File that keeps its state over its own restarts.
        port: 0 takes a free one.
        keys: Key id → secret that it lets in.
    """

    def __init__(
        self,
        options: VenueOptions | None = None,
        plan: FaultPlan | None = None,
        *,
        store: Path | None = None,
        port: int = 0,
        keys: dict[str, str] | None = None,
    ) -> None:
        self._options, self._store, self._port = options or VenueOptions(), store, port
        self.plan = plan or FaultPlan(requests_per_minute=None)
        self._keys = keys or {KEY_ID: SECRET_KEY}
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait(10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        assert self._thread is not None
        self._thread.join(10)

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(self.listen(self._loop))
        ready.set()
        try:
            self._loop.run_forever()
        finally:
            for transport in tuple(self.desk.connections):
                transport.abort()
            server.close()
            self._loop.run_until_complete(server.wait_closed())
            self.venue.log.close()
            self._loop.close()

    async def listen(self, loop: asyncio.AbstractEventLoop) -> asyncio.Server:
        """Open the port; the loop that calls this owns the venue."""
        self.venue = Venue(self._options, self._store)
        self.desk = Desk(self.venue, self.plan, self._keys)
        server = await loop.create_server(lambda: Connection(self.desk), "127.0.0.1", self._port)
        self._port = server.sockets[0].getsockname()[1]
        return server

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def stream_url(self) -> str:
        return f"ws://127.0.0.1:{self._port}/stream"

    @property
    def port(self) -> int:
        return self._port

    def call(self, act: Callable[[], _Answer]) -> _Answer:
        """Run something in the loop that owns the venue, and return what it returns."""

        async def inside() -> _Answer:
            return act()

        return asyncio.run_coroutine_threadsafe(inside(), self._loop).result(10)

    def do(self, **commands: Any) -> None:
        """Carry out admin commands: see `Admin`."""

        def act() -> None:
            self.desk.admin.do(commands)
            self.desk.release_held()

        self.call(act)

    def state(self) -> dict[str, Any]:
        """Return the venue's books, and how many requests of each kind came in."""
        return self.call(lambda: {**self.desk.admin.state(), "requests": dict(self.desk.requests)})

    def drop_streams(self) -> None:
        self.call(lambda: [stream.drop() for stream in tuple(self.desk.streams)])
