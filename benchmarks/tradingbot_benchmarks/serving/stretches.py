"""Percentiles on a machine that others use too: of the quietest of many short stretches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Stretch(NamedTuple):
    """Percentiles of a stretch, and of all of them together, in seconds."""

    quiet: float
    """Of the quietest stretch."""
    overall: float
    """Of all calls, whatever else ran."""


def time_calls(work: Callable[[], object], count: int) -> list[float]:
    """Return the seconds of so many calls, one after the other."""
    taken = []
    for _ in range(count):
        begin = perf_counter()
        work()
        taken.append(perf_counter() - begin)
    return taken


def percentile(stretches: Sequence[Sequence[float] | NDArray[Any]], share: float) -> Stretch:
    """Return a percentile of the quietest stretch, and of all."""
    each = [float(np.quantile(stretch, share)) for stretch in stretches]
    together = np.concatenate([np.asarray(stretch) for stretch in stretches])
    return Stretch(min(each), float(np.quantile(together, share)))
