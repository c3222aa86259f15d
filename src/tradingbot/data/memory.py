"""How much memory there is: what would not fit is refused, for a library that runs out aborts."""

from __future__ import annotations

import re
import resource
from pathlib import Path

from tradingbot.domain.errors import DataError

_GIB = 1024**3
_MEMINFO = Path("/proc/meminfo")
_LIMIT, _USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


def available_bytes() -> int | None:
    """Return the memory that this process may still take; None where the system does not tell."""
    found = [_of_machine(), _of_container(), _of_process()]
    known = [number for number in found if number is not None]
    return min(known) if known else None


def require_memory(needed_bytes: int, rule: str, *, where: str, remedy: str) -> None:
    """Refuse work that needs more memory than there is.

    Raises:
        DataError: Saying how much it needs, and how much there is.
    """
    available = available_bytes()
    if available is not None and needed_bytes > available:
        was = f"about {needed_bytes / _GIB:.1f} GiB, of {available / _GIB:.1f} GiB"
        raise DataError(rule, was=was, where=where, remedy=remedy)


def _of_machine() -> int | None:
    text = _MEMINFO.read_text(encoding="ascii") if _MEMINFO.exists() else ""
    found = re.search(r"MemAvailable:\s+(\d+) kB", text)
    return int(found[1]) * 1024 if found else None


def _of_container() -> int | None:
    try:
        limit, used = (path.read_text(encoding="ascii").strip() for path in (_LIMIT, _USED))
        return max(int(limit) - int(used), 0)
    except (OSError, ValueError):  # no container, or one without a limit
        return None


def _of_process() -> int | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    statm = Path("/proc/self/statm")
    pages = int(statm.read_text(encoding="ascii").split()[0]) if statm.exists() else 0
    return max(limit - pages * resource.getpagesize(), 0)
