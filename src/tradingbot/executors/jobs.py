"""An item that is being done, and the outcomes that executors with workers tell of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradingbot.domain.errors import UserError
from tradingbot.executors.executor import Outcome, WorkItem
from tradingbot.executors.worker import Done, Failed


@dataclass(eq=False)
class Job:
    """An unfinished item."""

    item: WorkItem
    began_at: float = 0.0
    """On the clock of the executor, in seconds; of the last try."""
    losses: list[str] = field(default_factory=list)
    """Why workers that did it were lost."""

    def is_late(self, now: float) -> bool:
        """Tell whether it has taken longer than it may."""
        limit = self.item.timeout_s
        return limit is not None and now - self.began_at > limit


def told_outcome(item: WorkItem, message: Done | Failed) -> Outcome:
    """Return what a worker told."""
    if isinstance(message, Done):
        return Outcome(item, message.value)
    if message.is_users:
        return Outcome(item, error=UserError(message.text.rstrip(".")))
    return Outcome(item, error=RuntimeError(f"{item.name}: {message.text}"))


def lost_outcome(job: Job, remedy: str) -> Outcome:
    """Return the outcome of an item whose workers were lost too often."""
    rule = f"{job.item.name} must be done to its end"
    return Outcome(job.item, error=UserError(rule, was="; again: ".join(job.losses), remedy=remedy))


def late_outcome(item: WorkItem) -> Outcome:
    """Return the outcome of an item that took too long."""
    rule = f"{item.name} must be done in {item.timeout_s:g} s"
    return Outcome(item, error=UserError(rule, was="not finished", remedy="Allow it more time"))
