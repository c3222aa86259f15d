"""What a training session calls while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from tradingbot.domain.events.event import EventCallback
from tradingbot.runs import RunDirectory
from tradingbot.training.config import TrainConfig


@dataclass(frozen=True)
class SessionCallbacks:
    """Callbacks of a run: events, notes, progress, and the request to stop."""

    event_callbacks: Callable[[RunDirectory, TrainConfig], Sequence[EventCallback]] = (
        lambda _run, _config: ()
    )
    note: Callable[[str], None] = lambda _: None
    """Told in words what is done now."""
    preparing: Callable[[str, int, int], None] = lambda _stage, _done, _total: None
    """Told (stage, updates so far, of how many) of pre-training and cloning."""
    interrupted: Callable[[], bool] = lambda: False
    """Whether to stop; asked between updates, which save what they come to."""
    at_once: Callable[[], AbstractContextManager[None]] = nullcontext
    """While it is open a request to stop raises `InterruptionError`: nothing is to be saved."""
    finished: Callable[[RunDirectory, TrainConfig], None] = lambda _run, _config: None
    """Told when everything of a finished run is on disk."""
