"""Clocks and gauges of the simulator benchmark: steps per second, copies, memory of the process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

WARM_CALLS = 3


def calls_per_second(call: Callable[[], object], *, seconds: float, repeats: int) -> float:
    """Call again and again; the median over repeats of calls per second.

    The first calls, which compile and touch fresh memory, are not counted.

    Args:
        call: What is timed.
        seconds: Least duration of one repeat.
        repeats: Odd.
    """
    for _ in range(WARM_CALLS):
        call()
    block = _calls_in(call, seconds / 10)
    return median(_rate(call, block, seconds) for _ in range(repeats))


def _calls_in(call: Callable[[], object], seconds: float) -> int:
    """Find a number of calls between two looks at the clock, which costs something too."""
    start = time.perf_counter()
    calls = 0
    while calls == 0 or time.perf_counter() - start < seconds:
        call()
        calls += 1
    return calls


def _rate(call: Callable[[], object], block: int, seconds: float) -> float:
    start = time.perf_counter()
    calls = 0
    while True:
        for _ in range(block):
            call()
        calls += block
        elapsed = time.perf_counter() - start
        if elapsed >= seconds:
            return calls / elapsed


def copy_bandwidth(n_bytes: int, *, seconds: float = 0.2, repeats: int = 3) -> float:
    """Measure bytes read and written per second by copying a tensor of `n_bytes`."""
    import torch  # here, because the processes that time peers have no use for it

    source = torch.ones(max(1, n_bytes // 4))
    target = torch.empty_like(source)
    copies = calls_per_second(lambda: target.copy_(source), seconds=seconds, repeats=repeats)
    return copies * 2 * source.numel() * source.element_size()


def resident_bytes() -> int | None:
    """Memory of this process that is in use now; None where the system does not tell."""
    path = Path("/proc/self/statm")
    if not path.is_file():
        return None
    return int(path.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
