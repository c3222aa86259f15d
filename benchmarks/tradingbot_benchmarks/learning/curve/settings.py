"""Settings with which learners are measured: one set for each learner, the same on every market."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.learning.catalogue import known_learners, learner_spec
from tradingbot.learning.learner import Learner
from tradingbot.learning.task import Task
from tradingbot.networks.head_config import Pooling
from tradingbot.networks.view import View

Build = Callable[[Task, View, int], Learner]


@dataclass(frozen=True)
class LearnerSettings:
    """What a learner is measured with."""

    n_envs: int
    """Environments of each agent."""
    updates: int
    """Calls of `update`."""
    build: Build
    """Makes the learner from task, view and seed."""
    private: tuple[str, ...] = ("size",)
    """What agents see of themselves. The position alone: whatever grows with the length of a
    backtest would be something they never saw in training."""


def measured_learners() -> tuple[str, ...]:
    """Return the names of learners that say what they are measured with, in order of name."""
    return tuple(
        name for name in sorted(known_learners()) if learner_spec(name).measured is not None
    )


def learner_settings(
    name: str, *, pooling: Pooling = "partial", changes: Mapping[str, Any] | None = None
) -> LearnerSettings:
    """Return the settings of a learner.

    Args:
        name: One of `measured_learners()`.
        pooling: How agents share heads.
        changes: Fields of the learner's configuration that differ, for trials; dots lead to those
            of its parts, as in `actor.n_directions`.

    Raises:
        ConfigError: If there is no such learner, or a value cannot be.
    """
    names = measured_learners()
    if name not in names:
        raise ConfigError(
            "learner must be a known one", was=repr(name), remedy=suggest(name, names)
        )
    spec = learner_spec(name)
    assert spec.measured is not None
    found = spec.measured(pooling)
    build = partial(_build, spec.build, _changed(found.config, changes or {}))
    return LearnerSettings(found.n_envs, found.updates, build)


def _build(
    make: Callable[..., Learner], config: object, task: Task, view: View, seed: int
) -> Learner:
    return make(task, view, config, seed=seed)


def _changed(config: Any, changes: Mapping[str, Any]) -> Any:
    for name, value in changes.items():
        first, _, rest = name.partition(".")
        part = _changed(getattr(config, first), {rest: value}) if rest else value
        config = replace(config, **{first: part})
    return config
