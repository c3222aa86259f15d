"""Hindsight: transitions as if what was reached had been the goal."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from tradingbot.learning.replay import Transitions

RewardOfGoal = Callable[[Transitions], Tensor]
"""Transitions (N, M, …) with the goal that counts → rewards (N, M)."""


def relabel_goals(
    transitions: Transitions, goal: Tensor, reward: RewardOfGoal, *, shown: slice | None = None
) -> Transitions:
    """Return transitions as if another goal had been aimed for (Andrychowicz et al. 2017).

    Args:
        transitions: (N, M, …).
        goal: (N, M, G) that counts now, e.g. what a later step of the episode reached.
        reward: What the transitions earn with it.
        shown: Columns of the private numbers that show the goal; they are rewritten. None: none do.
    """
    changed = transitions._replace(goal=goal)
    if shown is not None:
        private, final_private = transitions.private.clone(), transitions.final_private.clone()
        private[..., shown], final_private[..., shown] = goal, goal
        changed = changed._replace(private=private, final_private=final_private)
    return changed._replace(reward=reward(changed))
