"""A problem of goals: a point on a square goes to a place that differs from episode to episode.

The reward is 0 within `TOLERANCE` of the goal and −1 elsewhere: whoever has not been there knows
nothing of the way. As a task of N agents for our learners, and as a Gymnasium environment for
others; a place is reached by the same steps in both.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.seeding import stream
from tradingbot.learning.hindsight import relabel_goals
from tradingbot.learning.replay import Transitions
from tradingbot.learning.task import (
    ActionSpec,
    Observation,
    TaskState,
    TaskStep,
    TransitionExtras,
)
from tradingbot.market.episodes import mix

STRIDE = 0.1
"""Way of one step along each axis; the square is [−1, 1]²."""
TOLERANCE = 0.05
EPISODE_STEPS = 30
_DRAWS = 2.0**32


def reach_reward(achieved: Any, desired: Any) -> Any:
    """Return 0 where places (…, 2) are within the tolerance along both axes, else −1."""
    gap = abs(achieved - desired)
    near = (gap[..., 0] <= TOLERANCE) & (gap[..., 1] <= TOLERANCE)
    return 0.0 - 1.0 * ~near


class ReachTask:
    """N agents with B points each; a `learning.task.Task` with goals.

    The state is (6, N · B): place (2), goal (2), number of the episode, steps made. Private
    numbers are place and goal.
    """

    action = ActionSpec("box", 0, -1.0, 1.0, 2)
    n_private, n_own = 4, 2
    term_names: tuple[str, ...] = ("goal",)
    code_names: tuple[str, ...] = ("STAY", "MOVE")
    resets = True
    carries = TransitionExtras(episode=True, n_goal=2, achieved=True)

    def __init__(self, n_agents: int, n_envs: int, seed: int) -> None:
        """Open N · B squares; there is nothing else to see."""
        self.agent_names = tuple(f"point_{number}" for number in range(n_agents))
        self.n_envs, self.table = n_envs, torch.zeros(n_agents, 1, 1)
        self._lane = torch.arange(n_agents * n_envs) + (seed << 20)

    def begin(self) -> tuple[TaskState, Observation]:
        """Put every point in the middle."""
        zero = torch.zeros(len(self._lane))
        state = (torch.stack([zero, zero, *self._draw(zero), zero, zero]),)
        return state, self.observe(state)

    def step(self, state: TaskState, action: Tensor) -> TaskStep:
        """Move points by up to a stride along each axis."""
        numbers = state[0]
        moved = numbers[:2] + STRIDE * action.reshape(-1, 2).T.clamp(-1.0, 1.0)
        place, goal, episode = moved.clamp(-1.0, 1.0), numbers[2:4], numbers[4]
        reward = reach_reward(place.T, goal.T).float()
        steps = numbers[5] + 1.0
        ended = steps >= EPISODE_STEPS
        final = torch.cat([place, goal])
        fresh = torch.stack([0.0 * episode, 0.0 * episode, *self._draw(episode + 1.0)])
        after = torch.cat(
            [
                torch.where(ended, fresh, final),
                (episode + ended)[None],
                torch.where(ended, 0.0, steps)[None],
            ]
        )
        paid = self._by_agent(reward)
        return TaskStep(
            state=(after,),
            observation=self.observe((after,)),
            final_row=self._row(),
            final_private=self._by_agent(final).movedim(0, -1),
            final_return=0.0 * paid,
            reward=paid,
            terms=paid[None],
            terminated=self._by_agent(torch.zeros_like(ended)),
            truncated=self._by_agent(ended),
            executed=torch.ones_like(paid, dtype=torch.int64),
            traded=torch.ones_like(paid, dtype=torch.bool),
            episode=self._by_agent(episode.long()),
            goal=self._by_agent(goal).movedim(0, -1),
            achieved=self._by_agent(place).movedim(0, -1),
        )

    def differentiable_step(self, state: TaskState, action: Tensor) -> TaskStep:
        """Advance; a reward of 0 or −1 has no gradient."""
        return self.step(state, action)

    def observe(self, state: TaskState) -> Observation:
        """See places and goals."""
        nothing = torch.empty(len(self.agent_names), self.n_envs, 0, dtype=torch.bool)
        return Observation(self._row(), self._by_agent(state[0][:4]).movedim(0, -1), nothing)

    def wealth(self, state: TaskState) -> Tensor:
        """Return 1: nothing is owned."""
        return self._by_agent(torch.ones_like(state[0][0]))

    def require_relabelling(self) -> None:
        """Accept: places are always seen."""

    def relabel(self, transitions: Transitions, goal: Tensor) -> Transitions:
        """Return transitions as if another place had been aimed for."""
        return relabel_goals(
            transitions,
            goal,
            lambda each: reach_reward(each.achieved, each.goal).float(),
            n_own=self.n_own,
        )

    def goal_reward(self, achieved: Tensor, goal: Tensor) -> Tensor:
        """Return what places that were aimed for pay where others were reached."""
        reward: Tensor = reach_reward(achieved, goal)
        return reward.float()

    def _draw(self, episode: Tensor) -> list[Tensor]:
        """Draw goals (N · B,) along both axes by lane and number of the episode."""
        key = mix(self._lane) + mix(episode.long() + 1)
        return [(2.0 * mix(key ^ axis).double() / _DRAWS - 1.0).float() for axis in (11, 12)]

    def _row(self) -> Tensor:
        agent = torch.arange(len(self.agent_names))[:, None]
        return agent.expand(-1, self.n_envs)

    def _by_agent(self, lanes: Tensor) -> Tensor:
        return lanes.view(*lanes.shape[:-1], len(self.agent_names), self.n_envs)


Goals = NDArray[np.float32]


class ReachEnv(gym.Env[dict[str, Any], Any]):
    """One point, as hindsight replay of other libraries wants it."""

    def __init__(self, seed: int) -> None:
        """Open a square; goals follow from the seed."""
        box = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        names = ("observation", "achieved_goal", "desired_goal")
        self.observation_space = gym.spaces.Dict(dict.fromkeys(names, box))
        self.action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self._rng = stream(seed, "reach")
        self._place, self._goal, self._steps = np.zeros(2, np.float32), np.zeros(2, np.float32), 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Goals], dict[str, Any]]:
        """Begin in the middle, with another goal."""
        super().reset(seed=seed)
        self._place, self._steps = np.zeros(2, np.float32), 0
        self._goal = self._rng.uniform(-1.0, 1.0, 2).astype(np.float32)
        return self._seen(), {}

    def step(self, action: Goals) -> tuple[dict[str, Goals], float, bool, bool, dict[str, Any]]:
        """Move the point."""
        moved = self._place + np.float32(STRIDE) * np.clip(action, -1.0, 1.0).astype(np.float32)
        self._place = np.clip(moved, -1.0, 1.0, dtype=np.float32)
        self._steps += 1
        reward = float(self.compute_reward(self._place, self._goal, {}))
        done = self._steps >= EPISODE_STEPS
        return self._seen(), reward, False, done, {"is_success": reward == 0.0}

    def compute_reward(self, achieved_goal: Goals, desired_goal: Goals, info: object) -> Goals:
        """Return rewards (), or (B,); nothing in `info` matters."""
        return np.asarray(reach_reward(achieved_goal, desired_goal), np.float32)

    def _seen(self) -> dict[str, Goals]:
        return {
            "observation": self._place.copy(),
            "achieved_goal": self._place.copy(),
            "desired_goal": self._goal.copy(),
        }
