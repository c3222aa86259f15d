"""Tools that change rewards: where they act, and what must be so for that.

Read by `inert_settings`: settings of a tool that cannot act are refused, and so is a tool that is
on, in a preset too. Told without torch, before data are opened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tradingbot.configuration.part_names import objectives_of
from tradingbot.domain.errors import join_choices
from tradingbot.learning.catalogue import known_learners, learner_spec
from tradingbot.training.config import TrainConfig

_KIND, _PRIVATE = "environment.kind", "task.private"


class ToolRule(NamedTuple):
    """What must be so for a tool to act."""

    acts: Callable[[TrainConfig], bool]
    needs: Callable[[TrainConfig], str]
    """(configuration) → what must be so, as messages say it."""
    keys: tuple[str, ...]
    """Dotted keys that it is about, for the place of a refusal."""


class Tool(NamedTuple):
    """A section of the configuration that changes rewards, where it is on."""

    section: str
    switch: str
    """Dotted key that turns it on."""
    is_on: Callable[[TrainConfig], bool]
    turned_on: str
    """What must be so for it to be on, as messages say it."""
    off: str
    """What turns it off, as one writes it."""
    rules: tuple[ToolRule, ...]


def _takes_tools(config: TrainConfig) -> bool:
    return config.learner.spec.takes_reward_transform


def _needs_learner(config: TrainConfig) -> str:
    able = [name for name in known_learners() if learner_spec(name).takes_reward_transform]
    spec = config.learner.spec
    why = f": {spec.keeps_rewards}" if spec.keeps_rewards else ""
    return f"learner.name must be {join_choices(able)}, is {config.learner.words}{why}"


def _relabels(config: TrainConfig) -> bool:
    hindsight = getattr(config.learner.settings, "hindsight", None)
    return hindsight is not None and hindsight.strategy != "off"


def _needs_goals_kept(config: TrainConfig) -> str:
    return (
        f"learner.{config.learner.name}.hindsight.strategy must be off: what it would have paid "
        "for another goal is not known"
    )


def _is_in(*kinds: str) -> Callable[[TrainConfig], bool]:
    return lambda config: config.environment.kind in kinds


def _shows(*names: str) -> Callable[[TrainConfig], bool]:
    return lambda config: not config.task.private or {*names} <= {*config.task.private}


def _has_objectives(config: TrainConfig) -> bool:
    found = objectives_of(config.task.reward, config.task.reward_weights)
    return found is None or len(found) >= 2


def _needs_objectives(config: TrainConfig) -> str:
    found = objectives_of(config.task.reward, config.task.reward_weights) or ()
    return (
        "task.reward must have two objectives or more to weigh (objectives has five), "
        f"{config.task.reward} has {join_choices([*found]) or 'none'}"
    )


def _says(words: str) -> Callable[[TrainConfig], str]:
    return lambda _: words


_COMMON = (
    ToolRule(_takes_tools, _needs_learner, ("learner.name",)),
    ToolRule(
        lambda config: not _relabels(config),
        _needs_goals_kept,
        tuple(f"learner.{name}.hindsight.strategy" for name in ("sac", "hierarchical_sac")),
    ),
)
TOOLS: tuple[Tool, ...] = (
    Tool(
        "curiosity",
        "curiosity.mix",
        lambda config: config.curiosity.mix > 0.0,
        "curiosity.mix must be above 0",
        "curiosity.mix=0",
        _COMMON,
    ),
    Tool(
        "shaping",
        "shaping.weight",
        lambda config: config.shaping.weight > 0.0,
        "shaping.weight must be above 0",
        "shaping.weight=0",
        (
            *_COMMON,
            ToolRule(
                _is_in("population", "goal"),
                _says("environment.kind must be population or goal: levels are of the run's bars"),
                (_KIND,),
            ),
            ToolRule(
                _shows("size", "total_return"),
                _says("task.private must have size and total_return"),
                (_PRIVATE,),
            ),
        ),
    ),
    Tool(
        "objectives",
        "objectives.enabled",
        lambda config: config.objectives.enabled,
        "objectives.enabled must be true",
        "objectives.enabled=false",
        (
            *_COMMON,
            ToolRule(
                _is_in("population", "curriculum"),
                _says("environment.kind must be population or curriculum: others pay one term"),
                (_KIND,),
            ),
            ToolRule(_has_objectives, _needs_objectives, ("task.reward", "task.reward_weights")),
            ToolRule(
                _shows("total_return"), _says("task.private must have total_return"), (_PRIVATE,)
            ),
        ),
    ),
)
