"""Processes of this machine that are ours: told from others that have their number by now."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

_LOOK_S = 0.05


def begun_at(process: int) -> int:
    """Return when a process began, in ticks since the machine did; -1 where it is gone."""
    with suppress(OSError):
        # The name in brackets may hold anything; what follows it is numbers.
        text = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
        state, *fields = text.rpartition(")")[2].split()
        return -1 if state == "Z" else int(fields[18])
    return -1


def is_same(process: int, begun: int) -> bool:
    """Tell whether a process that began then is there; its number may be another's by now."""
    return begun_at(process) == begun >= 0


def end_process(process: int, begun: int) -> None:
    """Kill a process of this machine that does not listen, if it is still the same."""
    if is_same(process, begun):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def end_group(process: int, begun: int, limit_s: float) -> bool:
    """End a process that leads a group, and whatever of its group is left after `limit_s`.

    Returns:
        Whether it was there, and the same.
    """
    is_there = is_same(process, begun)
    if is_there:
        os.kill(process, signal.SIGTERM)
    until = time.monotonic() + limit_s
    while is_same(process, begun) and time.monotonic() < until:
        with suppress(ChildProcessError):
            os.waitpid(process, os.WNOHANG)  # one that we started is gone when it is waited for
        time.sleep(_LOOK_S)
    # A group keeps its number as long as it has members: no other has it.
    if is_there or begun_at(process) < 0:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process, signal.SIGKILL)
    return is_there
