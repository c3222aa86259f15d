"""A learner in memory as a policy, for the backtester: what it acts by, without a checkpoint."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.agents.policy import PolicyInputs
from tradingbot.envs.population import PRIVATE_NAMES, PopulationTask
from tradingbot.learning.shrinkage import Act
from tradingbot.learning.task import Observation, Task


class LearnerPolicy:
    """N agents that act by a learner's function; account i is agent i's."""

    def __init__(self, task: Task, act: Act) -> None:
        """Take what agents were shown in training, and what they act by."""
        assert isinstance(task, PopulationTask)
        self._act, self._device = act, task.table.device
        self._places = [PRIVATE_NAMES.index(name) for name in task.private_names]
        self._n_codes = len(task.code_names)

    @torch.no_grad()
    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Return actions (N,) in the space of the rules."""
        private = seen.private[self._places].T[:, None].float()
        allowed = (
            torch.ones(len(seen.row), 1, self._n_codes, dtype=torch.bool)
            if seen.allowed is None
            else seen.allowed.T[:, None]
        )
        observation = Observation(
            seen.row[:, None].to(self._device),
            private.to(self._device),
            allowed.to(self._device),
        )
        return self._act(observation)[:, 0].to(seen.row.device)
