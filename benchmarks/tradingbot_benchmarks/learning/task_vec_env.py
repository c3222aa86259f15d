"""A learner's task as SB3's `VecEnv`, so that both learn in the very same environments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import MissingExtraError
from tradingbot.learning.task import Observation, Task

try:
    from stable_baselines3.common.vec_env.base_vec_env import (
        VecEnv,
        VecEnvIndices,
        VecEnvObs,
        VecEnvStepReturn,
    )
except ImportError as e:
    raise MissingExtraError("train", package="stable_baselines3") from e


class TaskVecEnv(VecEnv):
    """N · B lanes of a task with numeric actions; an observation is a row of its table and P."""

    def __init__(self, task: Task) -> None:
        """Open every environment at `reset`."""
        self.task, self.width = task, task.table.shape[-1] + task.n_private
        self.render_mode: str | None = None
        self._state, self._seen = task.begin()
        self._actions = torch.zeros(self._seen.row.shape)
        low, high = task.action.low, task.action.high
        super().__init__(
            self._seen.row.numel(),
            gym.spaces.Box(-np.inf, np.inf, (self.width,), np.float32),
            gym.spaces.Box(low, high, (1,), np.float32),
        )

    def reset(self) -> VecEnvObs:
        """Begin anew."""
        self._state, self._seen = self.task.begin()
        return flat_observation(self.task, self._seen)

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take actions (N · B, 1)."""
        self._actions = torch.from_numpy(actions).float().view(self._seen.row.shape)

    def step_wait(self) -> VecEnvStepReturn:
        """Step every lane; where one ended, its info has the observation before the reset."""
        made = self.task.step(self._state, self._actions)
        self._state, self._seen = made.state, made.observation
        ended = (made.terminated | made.truncated).flatten().numpy()
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if ended.any():
            allowed = made.observation.allowed
            last = Observation(made.final_row, made.final_private, allowed)
            final, truncated = flat_observation(self.task, last), made.truncated.flatten().tolist()
            for lane in np.flatnonzero(ended):
                infos[lane] = {
                    "terminal_observation": final[lane],
                    "TimeLimit.truncated": truncated[lane],
                }
        reward = made.reward.flatten().numpy()
        return flat_observation(self.task, self._seen), reward, ended, infos

    def close(self) -> None:
        """Nothing is held but memory."""

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute once per lane; all lanes share it."""
        lanes: Iterable[int] = self._get_indices(indices)
        return [getattr(self, attr_name) for _ in lanes]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Refuse: lanes have no attributes of their own."""
        raise AttributeError(f"{attr_name} cannot be set lane by lane")

    def env_method(
        self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any
    ) -> list[Any]:
        """Refuse: lanes have no methods of their own."""
        raise AttributeError(f"a lane has no method {method_name}")

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        """Say no: lanes are not wrapped."""
        lanes: Iterable[int] = self._get_indices(indices)
        return [False for _ in lanes]


def flat_observation(task: Task, seen: Observation) -> NDArray[np.float32]:
    """Return (N · B, F + P) of what N agents see."""
    table: Tensor = task.table.reshape(-1, task.table.shape[-1])
    flat = torch.cat([table[seen.row], seen.private], dim=-1)
    return flat.reshape(-1, flat.shape[-1]).numpy()
