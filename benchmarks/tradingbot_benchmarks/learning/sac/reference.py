"""Our SAC beside Stable-Baselines3's: told the same, in the same tasks, judged by the same play.

That both compute the same losses is in `sac_agreement.py`, how fast each is in `sac_speed.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import MissingExtraError
from tradingbot.domain.seeding import stream
from tradingbot.learning.playing import play
from tradingbot.learning.sac.config import PAPER_NORMALISED_ENTROPY, SACConfig
from tradingbot.learning.sac.learner import SAC
from tradingbot.learning.schedules import constant
from tradingbot.learning.task import Observation, Task
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView
from tradingbot_benchmarks.learning.task_vec_env import TaskVecEnv, flat_observation

try:
    from stable_baselines3.sac.sac import SAC as Sb3SAC  # noqa: N811
except ImportError as e:
    raise MissingExtraError("train", package="stable_baselines3") from e


@dataclass(frozen=True)
class CommonSetting:
    """What both are told alike; the defaults are SPEC's."""

    hidden: tuple[int, ...] = (256, 256, 128)
    learning_rate: float = 3e-4
    buffer_size: int = 100_000
    warm_up: int = 1_000
    batch_size: int = 256
    target_rate: float = 0.005
    discount: float = 0.99
    temperature: float = 1.0
    """At the beginning; it is tuned."""
    target_normalised_entropy: float = PAPER_NORMALISED_ENTROPY
    """Share of the action range; SB3 is told the same in nats."""
    weight_decay: float = 0.0

    def ours(self, *, steps_per_update: int = 64) -> SACConfig:
        """Return our configuration, with what SB3 has no setting for as SB3 does it."""
        head = HeadConfig(self.hidden, "relu", pooling="pooled")
        return SACConfig(
            actor=head,
            critic=head,
            learning_rate=constant(self.learning_rate),
            temperature_rate=self.learning_rate,
            buffer_size=self.buffer_size,
            warm_up=self.warm_up,
            batch_size=self.batch_size,
            target_rate=self.target_rate,
            discount=self.discount,
            temperature=self.temperature,
            target_normalised_entropy=self.target_normalised_entropy,
            weight_decay=self.weight_decay,
            scale_rewards=False,
            steps_per_update=steps_per_update,
        )

    def sb3(self, env: Any, seed: int) -> Sb3SAC:
        """Return SB3's learner: one gradient step per step of all environments."""
        return Sb3SAC(
            "MlpPolicy",
            env,
            learning_rate=self.learning_rate,
            buffer_size=self.buffer_size,
            learning_starts=self.warm_up,
            batch_size=self.batch_size,
            tau=self.target_rate,
            gamma=self.discount,
            train_freq=1,
            gradient_steps=1,
            ent_coef=f"auto_{self.temperature}",
            target_entropy=math.log(2.0 * self.target_normalised_entropy),
            policy_kwargs={
                "net_arch": list(self.hidden),
                "optimizer_kwargs": {"weight_decay": self.weight_decay},
            },
            seed=seed,
            device="cpu",
        )


class Curves(NamedTuple):
    """Scores of deterministic policies after learning, by seed."""

    ours: NDArray[np.float64]
    sb3: NDArray[np.float64]


def compare_learning(
    make_task: Callable[[int], Task],
    setting: CommonSetting,
    seeds: Sequence[int],
    *,
    n_steps: int,
    play_steps: int,
) -> Curves:
    """Let both learn the same tasks from scratch, and play what they learned.

    Args:
        make_task: Seed → task of one agent.
        setting: What both are told.
        seeds: Of task and learner.
        n_steps: Environment steps of each, over all environments.
        play_steps: Steps of each environment in the play that is scored: mean reward per step.
    """
    scores = []
    for seed in seeds:
        task = make_task(seed)
        ours = SAC(task, TableView(task.table), setting.ours(), seed=seed)
        while ours.steps < n_steps:
            ours.update()
        theirs = setting.sb3(TaskVecEnv(make_task(seed)), seed)
        theirs.learn(n_steps)
        played = [
            play(make_task(seed), act, play_steps) for act in (ours.act, sb3_act(task, theirs))
        ]
        scores.append([float(one.reward.double().mean()) for one in played])
    table = np.array(scores)
    return Curves(table[:, 0], table[:, 1])


def sb3_act(task: Task, model: Sb3SAC) -> Callable[[Observation], Tensor]:
    """Return SB3's deterministic policy as a rule of a task."""

    def act(seen: Observation) -> Tensor:
        action, _ = model.predict(flat_observation(task, seen), deterministic=True)
        return torch.from_numpy(action).float().view(seen.row.shape)

    return act


def interquartile_mean(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the middle half along the last axis.

    Source: Agarwal et al. 2021 (arXiv:2108.13264).
    """
    cut = scores.shape[-1] // 4
    middle: NDArray[np.float64] = np.sort(scores, axis=-1)[..., cut : scores.shape[-1] - cut]
    return np.asarray(middle.mean(axis=-1))


def difference_interval(
    curves: Curves, *, n_resamples: int = 2_000, level: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the bootstrap interval of our interquartile mean less SB3's, over seeds."""
    generator = stream(seed, "reference", "bootstrap")
    drawn = [
        interquartile_mean(scores[generator.integers(len(scores), size=(n_resamples, len(scores)))])
        for scores in curves
    ]
    low, high = np.quantile(drawn[0] - drawn[1], [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)
