"""Signals and pace of a session: Ctrl-C and SIGTERM stop it, SIGUSR1 kills it; bars may wait."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from types import FrameType

from tradingbot.data.sources.pacing import Clock
from tradingbot.runtime.session.bars import MarketBar
from tradingbot.runtime.session.folder import Act, Request, SessionFolder

CLOCK = Clock()
"""Time of day of sessions."""
_ACTS: dict[signal.Signals, Act] = {
    signal.SIGINT: "stop",
    signal.SIGTERM: "stop",
    signal.SIGUSR1: "kill",
}


@contextmanager
def requests_by_signal(folder: SessionFolder) -> Iterator[None]:
    """Turn signals into requests, obeyed after the present turn; a second Ctrl-C ends at once."""

    def note(number: int, _: FrameType | None) -> None:
        act = _ACTS[signal.Signals(number)]
        folder.ask(Request(act, by="a signal", reason=signal.Signals(number).name))
        if act == "stop":
            signal.signal(number, before[signal.Signals(number)])

    before = {number: signal.signal(number, note) for number in _ACTS}
    try:
        yield
    finally:
        for number, usual in before.items():
            signal.signal(number, usual)


def pace_of(speed: float) -> Callable[[MarketBar], float]:
    """Return what tells the seconds until a bar may be taken: none, or as bars lay apart.

    Args:
        speed: How many times faster than real time; 0: at once.
    """
    last: list[datetime] = []

    def wait_s(bar: MarketBar) -> float:
        seconds = (bar.closed_at - last[0]).total_seconds() / speed if speed and last else 0.0
        last[:] = [bar.closed_at]
        return seconds

    return wait_s
