"""A worker process: what it is told, what it tells, and its heartbeat while it works."""

from __future__ import annotations

import signal
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

from tradingbot.domain.errors import UserError
from tradingbot.executors.by_value import copied_bytes
from tradingbot.executors.executor import OpenWork, Progress, Work

_SECONDS_BETWEEN_REPORTS = 0.2


class Beat(NamedTuple):
    """The worker is alive."""


class ProgressReport(NamedTuple):
    """Progress of an item."""

    finished: int
    total: int
    label: str


class Done(NamedTuple):
    """An item is done."""

    value: Any


class Failed(NamedTuple):
    """An item could not be done."""

    text: str
    is_users: bool


class Gone(NamedTuple):
    """The worker's end of the pipe is closed; said by the thread that listens to it."""


Message = Beat | ProgressReport | Done | Failed | Gone


def serve_items(pipe: Connection, heartbeat_s: float) -> None:
    """Do items until the pipe is closed; the body of a worker process.

    The first message is how work is opened, all others are items. Ctrl-C is not for workers: their
    executor ends them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        opening = pipe.recv_bytes()
    except (EOFError, OSError):
        return  # it was never needed
    open_work: OpenWork = ForkingPickler.loads(opening)
    voice = _Voice(pipe)
    with suppress(EOFError, OSError):
        work: Work | None = None
        while True:
            payload = pipe.recv()
            with _heartbeat(voice, heartbeat_s):
                answer, work = do_item(open_work, work, payload, voice.report)
            try:
                voice.tell(answer)
            except OSError:
                raise
            except Exception:  # a result that cannot be sent
                voice.tell(Failed(traceback.format_exc(), is_users=False))


def do_item(
    open_work: OpenWork, work: Work | None, payload: Any, report: Progress
) -> tuple[Done | Failed, Work | None]:
    """Do an item by work that is opened where it is not; return what to tell, and the work."""
    try:
        work = work or open_work()
        return Done(work(payload, report)), work
    except UserError as e:
        return Failed(str(e), is_users=True), work
    except Exception:
        return Failed(traceback.format_exc(), is_users=False), work


class _Voice:
    """Sends messages, one at a time; progress not too often."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._lock, self._last = pipe, threading.Lock(), 0.0

    def tell(self, message: Message) -> None:
        with self._lock:
            self._pipe.send_bytes(copied_bytes(message))

    def report(self, finished: int, total: int, label: str) -> None:
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_REPORTS:
            self._last = now
            self.tell(ProgressReport(finished, total, label))


@contextmanager
def _heartbeat(voice: _Voice, every_s: float) -> Iterator[None]:
    """Tell that the worker is alive while the block runs, whatever it does."""
    stop = threading.Event()

    def beat() -> None:
        with suppress(OSError):
            while not stop.wait(every_s):
                voice.tell(Beat())

    voice.tell(Beat())  # the first at once: whatever comes, the worker has begun
    thread = threading.Thread(target=beat, daemon=True, name="heartbeat")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Let processes that are started in the block inherit that Ctrl-C is not theirs to hear."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not the main thread: nothing interrupts it
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
