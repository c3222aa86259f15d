"""What transitions carry besides what every learner needs; nothing unless it is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from tradingbot.domain.checks import require, require_kinds
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.task import Task, TaskStep


@dataclass(frozen=True)
class TransitionExtras:
    """Which further parts of a `TaskStep` are delivered by a task, or kept by a learner."""

    duration: bool = False
    """Steps of the task's clock that an action took: options are semi-Markov."""
    discount: bool = False
    """What the value of what followed counts for."""
    episode: bool = False
    """Number of the environment's episode."""
    n_goal: int = 0
    """G, numbers of a goal; 0: there is none."""
    terms: bool = False
    """Reward terms of every step; every task delivers them, rollouts keep only their sum else."""

    def __post_init__(self) -> None:
        """Refuse a goal of fewer than no numbers."""
        require_kinds(self)
        require(self.n_goal >= 0, "n_goal must be 0 or more", self)


def extras_of(task: Task) -> TransitionExtras:
    """Return what the steps of a task carry, from its attribute `carries`; nothing without one."""
    carries: TransitionExtras = getattr(task, "carries", TransitionExtras())
    return carries


def delivered(step: TaskStep, name: str) -> Tensor:
    """Return a part of a step that was asked for.

    Raises:
        ConfigError: If the task does not deliver it.
    """
    part: Tensor | None = getattr(step, name)
    if part is None:
        raise ConfigError(
            f"a task must deliver what is kept of its steps: {name}",
            was="None",
            remedy=f"Return {name} in TaskStep, or do not ask for it in TransitionExtras",
        )
    return part


def transition_discount(
    discount: float, duration: Tensor | None, own: Tensor | None
) -> float | Tensor:
    """Return what the value of what followed counts for in each transition.

    Args:
        discount: γ per step of the task's clock, in [0, 1].
        duration: (…) steps that transitions took; None: one each.
        own: (…) discounts that transitions bring; None: γ to the power of the duration.
    """
    if own is not None:
        return own
    return discount if duration is None else discount**duration
