"""Where work is done: in this process, or in processes side by side; a cluster is one file more.

Analyses, folds, seeds and tuning hand plain items to an executor and take outcomes in any order.
"""

from tradingbot.executors.executor import (
    Executor,
    OpenWork,
    Outcome,
    Progress,
    Work,
    WorkItem,
    run_items,
)
from tradingbot.executors.inline import InlineExecutor
from tradingbot.executors.processes import ProcessExecutor, WorkerTimes

__all__ = [
    "Executor",
    "InlineExecutor",
    "OpenWork",
    "Outcome",
    "ProcessExecutor",
    "Progress",
    "Work",
    "WorkItem",
    "WorkerTimes",
    "run_items",
]
