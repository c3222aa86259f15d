"""Settings with which learners are measured: one set for each learner, the same on every market."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.learning.direct.config import DirectConfig
from tradingbot.learning.direct.learner import Direct
from tradingbot.learning.learner import Learner
from tradingbot.learning.ppo.learner import PPO
from tradingbot.learning.ppo.presets import PPO_PRESETS
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.learner import SAC
from tradingbot.learning.schedules import Schedule
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
    preset = PPO_PRESETS["market"]
    actor, critic = (replace(head, pooling=pooling) for head in (preset.actor, preset.critic))
    config = replace(preset, actor=actor, critic=critic)
    return LearnerSettings(
        32, 120, ("size",), lambda task, view, seed: PPO(task, view, config, seed=seed)
    )


def _sac(pooling: Pooling) -> LearnerSettings:
    n_envs, updates, steps_per_update = 16, 45, 64
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
