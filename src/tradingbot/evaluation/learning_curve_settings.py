"""Settings with which learners are measured: one set for each learner, the same on every market."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.learning.direct.config import DirectConfig
from tradingbot.learning.direct.learner import Direct
from tradingbot.learning.entropy import EntropyConfig
from tradingbot.learning.learner import Learner
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.ppo.learner import PPO
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.learner import SAC
from tradingbot.learning.schedules import Schedule, constant
from tradingbot.learning.task import Task
from tradingbot.networks.heads import HeadConfig, Pooling
from tradingbot.networks.view import View

Build = Callable[[Task, View, int], Learner]


@dataclass(frozen=True)
class LearnerSettings:
    """What a learner is measured with."""

    n_envs: int
    """Environments of each agent."""
    updates: int
    """Calls of `update`."""
    private: tuple[str, ...]
    """What agents see of themselves. The position alone: whatever grows with the length of a
    backtest would be something they never saw in training."""
    build: Build
    """Makes the learner from task, view and seed."""


def learner_settings(name: str, *, pooling: Pooling = "partial") -> LearnerSettings:
    """Return the settings of a learner.

    Args:
        name: One of `LEARNERS`.
        pooling: How agents share heads.

    Raises:
        ConfigError: If there is no such learner.
    """
    if name not in LEARNERS:
        raise ConfigError(
            "learner must be a known one", was=repr(name), remedy=suggest(name, LEARNERS)
        )
    return LEARNERS[name](pooling)


def _direct(pooling: Pooling) -> LearnerSettings:
    n_envs, updates, chunk_bars = 16, 150, 64
    config = DirectConfig(
        actor=HeadConfig(hidden=(64,), pooling=pooling),
        chunk_bars=chunk_bars,
        learning_rate=Schedule("cosine", 3e-3, 0.0, over=updates * chunk_bars * n_envs),
    )
    return LearnerSettings(
        n_envs, updates, ("size",), lambda task, view, seed: Direct(task, view, config, seed=seed)
    )


def _ppo(pooling: Pooling) -> LearnerSettings:
    n_envs, updates, rollout_steps = 32, 120, 64
    config = PPOConfig(
        actor=HeadConfig(hidden=(64,), pooling=pooling),
        critic=HeadConfig(hidden=(64,), pooling=pooling, output_gain=1.0),
        learning_rate=Schedule("cosine", 3e-3, 0.0, over=updates * rollout_steps * n_envs),
        rollout_steps=rollout_steps,
        n_epochs=4,
        minibatch=512,
        discount=0.9,
        decay=0.9,
        gradient_clip=1.0,
        kl_stop=0.0,
        # Advantages have deviation 1 and the signal is a few hundredths of it: what shrinks
        # weights must be smaller still, or the directions are gone before agents differ.
        weight_decay=5e-4,
        deviation_penalty=1e-3,
        entropy=EntropyConfig(coefficient=constant(0.003), target=0.0, floor=0.0, guard_spread=0.0),
        normalise_advantages="rollout",
        act_levels=2,
    )
    return LearnerSettings(
        n_envs, updates, ("size",), lambda task, view, seed: PPO(task, view, config, seed=seed)
    )


def _sac(pooling: Pooling) -> LearnerSettings:
    n_envs, updates, steps_per_update = 16, 60, 64
    heads = HeadConfig(hidden=(64, 64), activation="relu", pooling=pooling)
    config = SACConfig(
        actor=heads,
        critic=heads,
        learning_rate=Schedule("cosine", 1e-3, 0.0, over=updates * steps_per_update * n_envs),
        temperature_rate=1e-3,
        discount=0.95,
        steps_per_update=steps_per_update,
        deviation_penalty=0.01,
        act_levels=2,
    )
    return LearnerSettings(
        n_envs, updates, ("size",), lambda task, view, seed: SAC(task, view, config, seed=seed)
    )


LEARNERS: Mapping[str, Callable[[Pooling], LearnerSettings]] = MappingProxyType(
    {"direct": _direct, "ppo": _ppo, "sac": _sac}
)
