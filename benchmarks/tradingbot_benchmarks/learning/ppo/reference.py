"""Our PPO beside Stable-Baselines3's: the same losses, the same tasks, speed and time to quality.

`ppo_agreement.py` proves that both compute the same from the same numbers; here both learn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tradingbot.domain.errors import MissingExtraError
from tradingbot.learning.entropy_config import EntropyConfig
from tradingbot.learning.playing import play
from tradingbot.learning.ppo import PPO, PPOConfig
from tradingbot.learning.schedules import constant
from tradingbot.learning.task import Observation, Task
from tradingbot.networks.head_config import HeadConfig, Pooling
from tradingbot.networks.view import TableView
from tradingbot_benchmarks.learning.sac.reference import Curves
from tradingbot_benchmarks.learning.task_vec_env import TaskVecEnv, flat_observation

try:
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.ppo.ppo import PPO as Sb3PPO  # noqa: N811
except ImportError as e:
    raise MissingExtraError("train", package="stable_baselines3") from e

_SB3_KL_FACTOR = 1.5
"""SB3 stops at so many times its `target_kl`."""


@dataclass(frozen=True)
class PPOSetting:
    """What both are told alike; the defaults are SPEC's, the KL stop off for equal work."""

    hidden: tuple[int, ...] = (128,)
    learning_rate: float = 3e-4
    rollout_steps: int = 256
    n_epochs: int = 10
    minibatch: int = 64
    discount: float = 0.99
    decay: float = 0.95
    clip: float = 0.2
    entropy_weight: float = 0.0
    kl_stop: float = 0.0

    def ours(self, pooling: Pooling = "independent") -> PPOConfig:
        """Return our configuration, with what SB3 has no setting for as SB3 does it."""
        gains = (0.01, 1.0)
        actor, critic = (HeadConfig(self.hidden, pooling=pooling, output_gain=g) for g in gains)
        return PPOConfig(
            actor=actor,
            critic=critic,
            rollout_steps=self.rollout_steps,
            n_epochs=self.n_epochs,
            minibatch=self.minibatch,
            discount=self.discount,
            decay=self.decay,
            clip=constant(self.clip),
            learning_rate=constant(self.learning_rate),
            kl_stop=self.kl_stop,
            deviation_penalty=0.0,
            normalise_values=False,
            entropy=EntropyConfig(
                coefficient=constant(self.entropy_weight), target=0.0, guard_entropy=0.0
            ),
        )

    def sb3(self, env: Any, seed: int) -> Sb3PPO:
        """Return SB3's learner; its networks have the same layers and activation."""
        return Sb3PPO(
            "MlpPolicy",
            env,
            learning_rate=self.learning_rate,
            n_steps=self.rollout_steps,
            batch_size=self.minibatch,
            n_epochs=self.n_epochs,
            gamma=self.discount,
            gae_lambda=self.decay,
            clip_range=self.clip,
            ent_coef=self.entropy_weight,
            vf_coef=0.5,
            max_grad_norm=0.5,
            target_kl=self.kl_stop / _SB3_KL_FACTOR if self.kl_stop else None,
            policy_kwargs={
                "net_arch": {"pi": list(self.hidden), "vf": list(self.hidden)},
                "activation_fn": nn.Tanh,
            },
            seed=seed,
            device="cpu",
        )


class CodeVecEnv(TaskVecEnv):
    """Lanes of a task with codes for actions; SB3 knows no masks, so all codes must be allowed."""

    def __init__(self, task: Task) -> None:
        """Open every environment at `reset`."""
        super().__init__(task)
        self.action_space = gym.spaces.Discrete(task.action.n_actions)

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take codes (N · B,)."""
        self._actions = torch.from_numpy(actions).long().view(self._seen.row.shape)


def vec_env(task: Task) -> TaskVecEnv:
    """Return the environments of a task as SB3 takes them."""
    return CodeVecEnv(task) if task.action.n_actions else TaskVecEnv(task)


class LearningCurves(NamedTuple):
    """Mean reward per step of deterministic policies after each block of updates."""

    steps: tuple[int, ...]
    """Environment steps over all environments, at each point."""
    points: tuple[Curves, ...]
    """Scores by seed, at each point; `difference_interval` judges one."""


def compare_learning(
    make_task: Callable[[int], Task],
    setting: PPOSetting,
    seeds: Sequence[int],
    *,
    updates_per_point: Sequence[int],
    play_steps: int,
) -> LearningCurves:
    """Let both learn the same tasks of one agent from scratch, and play what they learned.

    Args:
        make_task: Seed → task of one agent. With codes both have the same kind of policy; numbers
            are squashed by ours and cut off by SB3's.
        setting: What both are told.
        seeds: Of task and learner.
        updates_per_point: Rollouts between two points.
        play_steps: Steps of each environment in the plays that are scored.
    """
    scores = np.zeros((2, len(updates_per_point), len(seeds)))
    per_update = setting.rollout_steps * make_task(0).n_envs
    for column, seed in enumerate(seeds):
        task = make_task(seed)
        ours = PPO(task, TableView(task.table), setting.ours(), seed=seed)
        theirs = setting.sb3(vec_env(make_task(seed)), seed)
        for point, updates in enumerate(updates_per_point):
            for _ in range(updates):
                ours.update()
            theirs.learn(updates * per_update, reset_num_timesteps=False)
            for row, act in enumerate((ours.act, sb3_act(task, theirs))):
                played = play(make_task(seed), act, play_steps)
                scores[row, point, column] = float(played.reward.double().mean())
    steps = tuple(int(count) * per_update for count in np.cumsum(updates_per_point))
    return LearningCurves(steps, tuple(Curves(*pair) for pair in scores.transpose(1, 0, 2)))


def sb3_act(task: Task, model: Sb3PPO) -> Callable[[Observation], Tensor]:
    """Return SB3's deterministic policy as a rule of a task, cut to the task's range."""

    def act(seen: Observation) -> Tensor:
        action, _ = model.predict(flat_observation(task, seen), deterministic=True)
        chosen = torch.from_numpy(action).view(seen.row.shape)
        return chosen if task.action.n_actions else chosen.float()

    return act


class SpeedPair(NamedTuple):
    """Agent-steps per second of whole updates: collecting and learning."""

    ours: float
    sb3: float


def measure_speed(
    make_task: Callable[[int], Task],
    setting: PPOSetting,
    *,
    n_agents: int,
    pooling: Pooling = "independent",
    updates: int = 2,
) -> SpeedPair:
    """Time both at equal work per agent-step: layers, epochs, minibatch, environment.

    Args:
        make_task: Number of agents → task; ours gets N at once, SB3 one, as it must.
        setting: What both are told.
        n_agents: N of ours.
        pooling: `independent` is what SB3 does; `partial` is our default.
        updates: Timed rollouts with their epochs, after one that is not timed.
    """
    task = make_task(n_agents)
    ours = PPO(task, TableView(task.table), setting.ours(pooling), seed=0)
    ours_s = _seconds(ours.update, updates)
    single = make_task(1)
    theirs = setting.sb3(vec_env(single), 0)
    per_update = setting.rollout_steps * single.n_envs
    theirs.set_logger(Logger(folder=None, output_formats=[]))
    theirs_s = _seconds(lambda: theirs.learn(per_update, reset_num_timesteps=False), updates)
    per_agent = setting.rollout_steps * task.n_envs
    return SpeedPair(per_agent * n_agents / ours_s, per_update / theirs_s)


def _seconds(work: Callable[[], object], times: int) -> float:
    """Return seconds per call, after one that is not counted."""
    work()
    began_s = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - began_s) / times
