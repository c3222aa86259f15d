"""How long a cluster is waited for."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.domain.checks import bounded
from tradingbot.executors.processes import WorkerTimes


@dataclass(frozen=True)
class ClusterTimes(WorkerTimes):
    """How long is waited for workers and for the head, in seconds, and how often tried."""

    head_s: float = bounded(300.0, "> 0")
    """For a head that was lost, until the run ends and can be resumed by its command."""
    most_losses: int = bounded(5, ">= 1")
    """Workers that an item may lose; the next loss is its outcome."""
