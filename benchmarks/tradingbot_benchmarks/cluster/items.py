"""Items of known length, and one whose worker dies; for processes and clusters alike."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tradingbot.executors.executor import Progress, Work

_SIZE = 96


def open_products() -> Work:
    """Return what multiplies matrices: (seed, products) → sum, the same in every process."""
    os.environ["OMP_NUM_THREADS"] = "1"
    return _multiply


def _multiply(payload: tuple[int, int], _: Progress) -> float:
    seed, products = payload
    # A matrix that repeats itself: |entries| stay below 1, bits depend on the seed alone.
    matrix = np.cos(np.arange(_SIZE * _SIZE, dtype=np.float64) * (seed + 1)).reshape(_SIZE, _SIZE)
    for _product in range(products):
        matrix = np.cos(np.einsum("ij,jk->ik", matrix, matrix))
    return float(matrix.sum())


def open_deaths(folder: Path) -> Work:
    """Return what dies the first time that it does an item, and says the second how long it took.

    The clock is the machine's, the same for all processes.
    """
    return partial(_die_once, folder)


def _die_once(folder: Path, payload: str, _: Progress) -> Any:
    died = folder / payload
    if not died.exists():
        died.write_text(str(time.monotonic()), encoding="ascii")
        os.kill(os.getpid(), signal.SIGKILL)
    return time.monotonic() - float(died.read_text(encoding="ascii"))
