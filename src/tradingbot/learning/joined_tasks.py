"""Environments of several tasks as those of one, and steps of it taken apart again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.task import Observation, Task, TaskStep, keep_lanes


def join_tasks(tasks: Sequence[Task]) -> Task:
    """Return a task with the environments of several that differ in where they begin alone.

    Environments of task m come after those of task m − 1, for every agent; each goes on as it does
    in its own task.

    Raises:
        ConfigError: If the tasks cannot be joined.
    """
    joined: Callable[[Sequence[Task]], Task] | None = getattr(tasks[0], "joined", None)
    if joined is None:
        rule = "a task must join others to be learned by several learners at once"
        raise ConfigError(rule, was=type(tasks[0]).__name__, remedy="Let them learn one by one")
    return joined(tasks[1:])


def keep_step(step: TaskStep, n_agents: int, first: int, count: int) -> TaskStep:
    """Take what a step was for some environments of each agent, as `keep_lanes` does of a state."""

    def of_agents(part: Tensor, axis: int = 1) -> Tensor:
        return part.narrow(axis, first, count)

    kept = {
        name: None if part is None else of_agents(part, 2 if name == "terms" else 1)
        for name, part in step._asdict().items()
        if name not in ("state", "observation")
    }
    return TaskStep(
        state=tuple(keep_lanes(part, n_agents, first, count) for part in step.state),
        observation=Observation(*(of_agents(part) for part in step.observation)),
        **kept,  # type: ignore[arg-type]
    )
