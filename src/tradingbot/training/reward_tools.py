"""What changes rewards between collecting and learning, as a configuration asks for it."""

from __future__ import annotations

import torch

from tradingbot.domain.errors import ConfigError, join_choices, require_known
from tradingbot.envs.population import PopulationTask
from tradingbot.envs.price_levels import price_levels
from tradingbot.learning.curiosity.transform import Curiosity
from tradingbot.learning.objectives.transform import LearnedObjectives, Objectives
from tradingbot.learning.reward_transform import RewardTransform, TransformChain
from tradingbot.learning.shaping.transform import LearnedShaping, PotentialInputs
from tradingbot.rewards import RewardStack
from tradingbot.rewards.term import OBJECTIVES
from tradingbot.training.config import TrainConfig
from tradingbot.training.environment_task import TrainingTask

_POSITION, _GROWTH = "size", "total_return"
"""Private numbers that shaping and objectives read."""
_VOLATILITY = "volatility_regime"
"""Regime that says whether a bar's volatility is high, a percentile."""


def build_reward_transform(
    config: TrainConfig, task: TrainingTask, seed: int
) -> RewardTransform | None:
    """Return the transforms of a run, in their order; None where there is none.

    A learner that takes none gets none: asked for, that is refused before.

    Args:
        config: Of the run.
        task: What is learned.
        seed: Root of every random stream.
    """
    if not config.learner.spec.takes_reward_transform:
        return None
    made: dict[str, RewardTransform] = {}
    if config.objectives.enabled:
        made["objectives"] = _objectives(config, task, seed)
    if config.curiosity.mix > 0.0:
        made["curiosity"] = Curiosity(task, config.curiosity, seed=seed)
    if config.shaping.weight > 0.0:
        made["shaping"] = _shaping(config, task, seed)
    return TransformChain(made) if made else None


def _shaping(config: TrainConfig, task: TrainingTask, seed: int) -> LearnedShaping:
    """Return shaping whose potential reads price levels, the trend and the position.

    Raises:
        ConfigError: If agents do not see their position and return, or not on bars of their own.
    """
    task = _population(config, task, "shaping", ("population", "goal"))
    position, growth = (_private_place(task, name) for name in (_POSITION, _GROWTH))
    levels = torch.from_numpy(price_levels(task.world)).to(task.table.device).flatten(0, 1)
    inputs, discount = PotentialInputs(levels, position, growth), config.learner.settings.discount
    return LearnedShaping(task, inputs, config.shaping, discount=discount, seed=seed)


def _objectives(config: TrainConfig, task: TrainingTask, seed: int) -> LearnedObjectives:
    """Return weights of the objectives that the terms of the run's reward belong to.

    Raises:
        ConfigError: If they are fewer than two, or agents do not see their return.
    """
    task = _population(config, task, "objectives", ("population", "curriculum"))
    reward = task.config.reward_stack
    stack = reward if isinstance(reward, RewardStack) else None
    of_term = [layer.term.objective for layer in stack.layers] if stack else []
    names = tuple(name for name in OBJECTIVES if name in of_term)
    if stack is None or len(names) < 2:
        rule = "a reward must have two objectives or more to weigh"
        remedy = "Set task.reward=objectives, or leave objectives.enabled out"
        raise ConfigError(rule, was=", ".join(names) or "none", where="task.reward", remedy=remedy)
    sizes = [sum(abs(w.weight) for w in stack.layers if w.term.objective == n) for n in names]
    column = task.world.regime_names.index(_VOLATILITY) + len(task.world.feature_names)
    volatile = task.table.flatten(0, 1)[:, column] >= config.objectives.volatility
    told = Objectives(
        names,
        tuple(names.index(each) for each in of_term),
        tuple(size / sum(sizes) for size in sizes),
        _private_place(task, _GROWTH),
        volatile,
    )
    discount = config.learner.settings.discount
    return LearnedObjectives(task, told, config.objectives, discount=discount, seed=seed)


def _population(
    config: TrainConfig, task: TrainingTask, tool: str, kinds: tuple[str, ...]
) -> PopulationTask:
    kind = config.environment.kind
    if not isinstance(task, PopulationTask) or kind not in kinds:
        rule = f"environment.kind must be {join_choices(kinds)} for {tool}"
        raise ConfigError(rule, was=kind, remedy=f"Leave the section {tool} out")
    return task


def _private_place(task: PopulationTask, name: str) -> int:
    rule = "private number that a tool reads must be shown by task.private"
    require_known(name, task.private_names, rule)
    return task.private_names.index(name)
