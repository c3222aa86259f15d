"""Rewards of a rollout, changed before values are estimated: the same for PPO and IMPALA."""

from __future__ import annotations

from torch import Tensor

from tradingbot.learning.learner import Metrics
from tradingbot.learning.reward_transform import CollectedSteps, RewardTransform, transform_rewards
from tradingbot.learning.rollout import Rollout
from tradingbot.learning.task import transition_discount


def transform_rollout(
    transform: RewardTransform | None, rollout: Rollout, discount: float
) -> tuple[Rollout, Metrics]:
    """Return the rollout with the rewards to learn from, and what is to be said of them.

    Args:
        transform: Learns from the steps too; None leaves rewards as they were paid.
        rollout: As it was collected.
        discount: γ per step of the task's clock, for steps that took a while.
    """
    if transform is None:
        return rollout, {}
    *names, _, _ = CollectedSteps._fields
    parts = (getattr(rollout, name) for name in names)
    own = transition_discount(discount, rollout.duration, rollout.discount)
    counted = own if isinstance(own, Tensor) else None
    steps = CollectedSteps._make([*parts, rollout.step_terms, counted])
    reward = transform_rewards(transform, steps)
    figures = {
        "rollout/reward": rollout.reward.mean((0, 2)),
        "rollout/transformed_reward": reward.mean((0, 2)),
    }
    return rollout._replace(reward=reward), figures | transform.learn(steps)
