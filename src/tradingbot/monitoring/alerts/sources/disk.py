"""The workspace's disk: how much of it is free."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

from tradingbot.monitoring.alerts.metric import MetricSample
from tradingbot.monitoring.alerts.sources.source import SourceReading, describe_problem

_SUBJECT = "disk"


class DiskSource:
    """Measures the disk of a folder."""

    metrics = ("disk_free_frac", "disk_free_bytes")

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def measure(self, now: datetime) -> SourceReading:
        """Ask the system how much is free for this user."""
        try:
            usage = shutil.disk_usage(self._folder)
        except OSError as e:
            return SourceReading(problems={_SUBJECT: describe_problem(e)})
        share = usage.free / usage.total if usage.total else 0.0
        told = f"{usage.free / 1e9:.1f} of {usage.total / 1e9:.1f} GB are free"
        return SourceReading(
            (
                MetricSample("disk_free_frac", _SUBJECT, share, told),
                MetricSample("disk_free_bytes", _SUBJECT, float(usage.free), told),
            )
        )

    def close(self) -> None:
        """Nothing is held."""
