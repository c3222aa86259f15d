"""What a configuration must be for a kind of environment to be trained in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tradingbot.training.config import TrainConfig


def environment_rules(config: TrainConfig) -> Iterator[tuple[bool, str]]:
    """Yield what must hold and how it is said; nothing for a population or a curriculum."""
    kind, learner = config.environment.kind, config.learner
    if kind in ("population", "curriculum"):
        return
    spec, settings = learner.spec, learner.settings
    yield (
        not config.cloning.enabled,
        f"cloning.enabled must be false in environment {kind}: experts trade single accounts",
    )
    if kind == "goal":
        yield (
            spec.learns_reward(settings),
            "learner must learn from the reward in environment goal, "
            f"was {learner.name} with objective {getattr(settings, 'objective', None)}",
        )
        yield (
            not (spec.differentiates and config.environment.goal.reward == "sparse"),
            "environment.goal.reward must be dense for a learner that follows its gradient, "
            f"was sparse with learner {learner.name}",
        )
        return
    yield (
        "simplex" in spec.action_kinds and not spec.differentiates,
        "learner.name must be one that learns weights without gradients of the task (ppo) in "
        f"environment portfolio, was {learner.name}",
    )
    space = config.task.rules.action.space
    yield (
        space == "target",
        "task.rules.action.space must be target in environment portfolio: rules trade its "
        f"accounts, was {space}",
    )
    yield (
        config.encoder.preset == "row",
        "encoder.preset must be row in environment portfolio: one agent sees all symbols, "
        f"was {config.encoder.preset}",
    )
    yield config.device != "cuda", "device must be cpu or auto in environment portfolio, was cuda"
