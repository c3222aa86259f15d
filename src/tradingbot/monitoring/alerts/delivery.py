"""Delivery: every channel in a thread of its own, bounded attempts, and another one where it fails.

A channel that hangs makes only its own notices wait. What does not fit into a channel's queue goes
to the one that stands in for it. Nothing here ever blocks or ends what watches.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tradingbot.domain.errors import ChannelError
from tradingbot.monitoring.alerts.audience import audience_of
from tradingbot.monitoring.alerts.channels.channel import AlertChannel
from tradingbot.monitoring.alerts.notice import AlertNotice
from tradingbot.monitoring.alerts.settings import AlertSettings
from tradingbot.monitoring.alerts.store import Delivery

MOST_WAITING = 1000
"""Notices in the queue of one channel."""
_PAUSE_S = 0.25


@dataclass(frozen=True)
class _Task:
    number: int
    notice: AlertNotice
    channel: str
    given: set[str]
    """Channels that the notice was given to; shared by all of its tasks."""
    failed: str | None = None
    """Channel that failed before."""


class Dispatcher:
    """Sends notices by channels.

    Args:
        settings: Which channels, in which order they stand in for each other.
        channels: Name → channel.
        clock: Time of day.
        written: Completes the commands that a notice names: who reads it is elsewhere.
    """

    def __init__(
        self,
        settings: AlertSettings,
        channels: Mapping[str, AlertChannel],
        clock: Callable[[], datetime],
        written: Callable[[str], str] = str,
    ) -> None:
        self._settings, self._channels, self._clock = settings, channels, clock
        self._written = written
        self._done: queue.SimpleQueue[Delivery] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._idle = threading.Condition()
        self._under_way = 0
        self._queues: dict[str, queue.Queue[_Task | None]] = {}
        self._threads: list[threading.Thread] = []
        for name in channels:
            self._queues[name] = queue.Queue(MOST_WAITING)
            thread = threading.Thread(target=self._work, args=(name,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def send(self, number: int, notice: AlertNotice) -> None:
        """Give a notice to its channels; returns at once."""
        chosen = audience_of(notice, self._settings.channels)
        given = set(chosen)
        notice = replace(notice, text=self._written(notice.text))
        for name in chosen:
            self._put(_Task(number, notice, name, given))

    def results(self) -> list[Delivery]:
        """Return what became of notices since this was asked last."""
        found = []
        while True:
            try:
                found.append(self._done.get_nowait())
            except queue.Empty:
                return found

    def wait(self, timeout_s: float) -> bool:
        """Wait until everything was tried; tell whether it was."""
        with self._idle:
            return self._idle.wait_for(lambda: self._under_way == 0, timeout_s)

    def close(self, timeout_s: float = 0.0) -> None:
        """Let threads end after what they do now; waits for what is queued as long as is said."""
        if timeout_s > 0.0:
            self.wait(timeout_s)
        self._stopping.set()
        for each in self._queues.values():
            try:
                each.put_nowait(None)
            except queue.Full:
                continue  # its thread sees that it is over after the task at hand

    def _stand_in(self, task: _Task) -> str | None:
        """Return the next channel that was not given the notice yet; None where all were."""
        names = list(self._settings.channels)
        last = task.channel
        for _ in names:
            place = names.index(last)
            last = self._settings.channels[last].fallback or names[(place + 1) % len(names)]
            if last not in task.given:
                return last
        return next((each for each in names if each not in task.given), None)

    def _put(self, task: _Task) -> None:
        with self._idle:
            self._under_way += 1
        try:
            self._queues[task.channel].put_nowait(task)
        except queue.Full:
            self._fail(task, 0, "too many notices wait")

    def _work(self, name: str) -> None:
        waiting = self._queues[name]
        while (task := waiting.get()) is not None and not self._stopping.is_set():
            attempts, problem = self._try(name, task.notice)
            if problem is None:
                self._tell(task, attempts, None)
                self._end()
            else:
                self._fail(task, attempts, problem)

    def _try(self, name: str, notice: AlertNotice) -> tuple[int, str | None]:
        """Send with a few attempts; return how many it took, and the problem of the last one."""
        problem: str | None = "no attempt"
        most = self._settings.channels[name].attempts
        for attempt in range(1, most + 1):
            try:
                self._channels[name].send(notice)
            except ChannelError as e:
                problem = str(e)
            except Exception as e:  # a bug of a channel must not silence the others
                problem = f"{type(e).__name__} in channel {name}"
            else:
                return attempt, None
            if attempt < most:
                self._stopping.wait(_PAUSE_S * attempt)
        return most, problem

    def _fail(self, task: _Task, attempts: int, problem: str) -> None:
        """Write that a channel failed, and hand the notice to the one that stands in for it."""
        self._tell(task, attempts, problem)
        with self._idle:
            other = self._stand_in(task)
            task.given.update([] if other is None else [other])
        if other is not None:
            self._put(_Task(task.number, task.notice, other, task.given, task.channel))
        self._end()

    def _tell(self, task: _Task, attempts: int, problem: str | None) -> None:
        now = self._clock()
        seconds = max(timedelta(0), now - task.notice.at).total_seconds()
        told = (problem is None, attempts, seconds, task.failed, problem)
        self._done.put(Delivery(task.number, task.channel, now, *told))

    def _end(self) -> None:
        with self._idle:
            self._under_way -= 1
            self._idle.notify_all()
