"""Ctrl-C and SIGTERM while training: finish the update, save, exit with 130 or 143.

Judging, which a resumed run does again, is left where it is.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tradingbot.domain.errors import InterruptionError

_CAUGHT = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Whether the process was asked to stop, and by which signal."""

    def __init__(self) -> None:
        self.signal: int | None = None

        self.raises = False

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let a request raise where it comes, and one that came before: nothing is to be saved.

        Raises:
            InterruptionError: If the process is asked to stop.
        """
        self.raises = True
        try:
            self.require_none()
            yield
        finally:
            self.raises = False

    def require_none(self) -> None:
        """Raise where the process was asked to stop and `at_once` is open."""
        if self.raises and self.signal is not None:
            raise InterruptionError(signal.Signals(self.signal).name)

    def __call__(self) -> bool:
        """Tell whether to stop after the present update."""
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """128 + the signal's number, as shells report it; 0 where there was none."""
        return 0 if self.signal is None else 128 + self.signal


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Turn the first Ctrl-C or SIGTERM into a request; a second one ends the process at once.

    What the last checkpoint holds is safe in either case.
    """
    request = StopRequest()
    before = {number: signal.getsignal(number) for number in _CAUGHT}

    def note(number: int, _: FrameType | None) -> None:
        request.signal = number
        for caught, usual in before.items():
            signal.signal(caught, usual)
        request.require_none()

    for number in _CAUGHT:
        signal.signal(number, note)
    try:
        yield request
    finally:
        for number, usual in before.items():
            signal.signal(number, usual)
