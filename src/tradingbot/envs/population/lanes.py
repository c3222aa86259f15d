"""Environments of a task played several times over, in part, or in another process."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Self

from torch import Tensor

from tradingbot.learning.task import join_lanes, keep_lanes, repeat_lanes
from tradingbot.market.episodes import Starts

_STEPS = ("_plain_step", "_smooth_step")
"""Compiled functions; they are made again where a task is opened."""


class DividedLanes:
    """Part of a task whose lanes differ in nothing but where their episodes begin."""

    agent_names: tuple[str, ...]
    n_envs: int
    starts: Starts

    def repeated(self, times: int) -> Self:
        """Return a task with the same environments so many times over; see `repeat_task`."""
        n_agents = len(self.agent_names)
        parts = (repeat_lanes(part, n_agents, times) for part in self.starts[1:])
        return self._with_lanes(self.n_envs * times, *parts)

    def keeping(self, first: int, count: int) -> Self:
        """Return a task with some environments of each agent; see `keep_envs`."""
        n_agents = len(self.agent_names)
        parts = (keep_lanes(part, n_agents, first, count) for part in self.starts[1:])
        return self._with_lanes(count, *parts)

    def joined(self, others: Sequence[Self]) -> Self:
        """Return a task with the environments of several; see `learning.joined_tasks`."""
        tasks, n_agents = (self, *others), len(self.agent_names)
        parts = [[task.starts[place] for task in tasks] for place in (1, 2)]
        joined = (join_lanes(part, n_agents) for part in parts)
        return self._with_lanes(sum(task.n_envs for task in tasks), *joined)

    def _with_lanes(self, n_envs: int, offset: Tensor, key: Tensor) -> Self:
        task = copy.copy(self)
        task.n_envs = n_envs
        task._step_from(self.starts._replace(offset=offset, key=key))
        return task

    def _step_from(self, starts: Starts) -> None:
        raise NotImplementedError

    def __copy__(self) -> Self:
        """Share everything, compiled functions too."""
        made = type(self).__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __getstate__(self) -> dict[str, object]:
        """Leave out what steps: it is made again where the task is opened."""
        return {name: part for name, part in vars(self).items() if name not in _STEPS}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Open what was stored."""
        vars(self).update(state)
        self._step_from(self.starts)
