"""The critic is worse than a constant, and stays so: advantages are noise."""

from __future__ import annotations

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import Detection, Detector, Scene, grade_levels
from tradingbot.learning.guards.history import History

_VARIES = 0.1
"""Deviation of rewards, of the largest kept, below which there is nothing to explain."""


def check(history: History, config: GuardConfig) -> Detection:
    """Compare the explained variance."""
    share, deviation = history["value/explained_variance"], history["rollout/reward_deviation"]
    # Where rewards hardly vary any more, there is nothing to explain.
    varies = deviation > _VARIES * deviation.amax(0)
    level = grade_levels(
        share < config.explained_variance, share < config.explained_variance_critical
    )
    return Detection(level * varies, share[-1], config.explained_variance)


def words(scene: Scene) -> str:
    """Tell the explained variance and for how long it has been so."""
    now = scene.now("value/explained_variance")
    return (
        f"the critic explains {now:.2f} of the variance of its targets (limit "
        f"{scene.config.explained_variance:g}) for {scene.config.critic_patience} updates or more: "
        "a constant would do better"
    )


RULE = Detector(
    "DEAD_CRITIC",
    check,
    words,
    "Look at the scale of rewards, the critic's learning rate and the weight of its loss.",
    cure="restart",
    patience=lambda config: config.critic_patience,
)
