"""What a benchmark says: a list of records, and the machine it was measured on."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path


@dataclass(frozen=True)
class BenchRecord:
    """One measured figure; `ratio` above 1 is better than the reference.

    It is reference ÷ value where less is better (times, bytes), value ÷ reference of speeds.
    """

    name: str
    value: float
    """NaN, null in JSON, where it could not be measured; `note` says why."""
    unit: str
    reference: float | None = None
    """The same work done by `reference_name` in the same run, or a budget; same unit as value."""
    reference_name: str = ""
    ratio: float | None = None
    note: str = ""
    """What exactly was measured, or why it was not."""


def against(name: str, value: float, unit: str, reference: float, what: str) -> BenchRecord:
    """Make a record with its ratio to a reference.

    Example:
        >>> against("features", 0.2, "s", 2.0, "pandas loop").ratio
        10.0
    """
    return BenchRecord(name, value, unit, reference, what, reference / value)


def with_load(record: BenchRecord) -> BenchRecord:
    """Add to the note how many processes want to run now: times depend on it."""
    load = f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores after it"
    return replace(record, note=f"{record.note}; {load}" if record.note else load)


def describe_machine() -> dict[str, str]:
    """Say where the figures come from: processor, cores, memory, system, versions."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "polars", "torch"))
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": f"tradingbot {version('tradingbot')}, {packages}",
    }


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
