"""A process that keeps a core busy, for figures beside a neighbour."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_SETTLING_S = 0.2


@contextmanager
def busy_neighbour() -> Iterator[subprocess.Popen[bytes]]:
    """Run another process that computes without a pause for as long as the block lasts."""
    neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(_SETTLING_S)  # until it has started to compute
        yield neighbour
    finally:
        neighbour.kill()
        neighbour.wait()
