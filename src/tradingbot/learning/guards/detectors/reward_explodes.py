"""Rewards grow out of all proportion: the critic cannot follow, and advantages mean nothing."""

from __future__ import annotations

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import Detection, Detector, Scene, grade_levels
from tradingbot.learning.guards.history import History

_USUAL = 0.25
"""Quantile of the ring buffer that counts as usual: low, so that slow explosions show as well."""


def check(history: History, config: GuardConfig) -> Detection:
    """Compare the scale of rewards with its usual size, and with what is usable at all."""
    scale = history["rollout/reward_scale"]
    usual = scale.nanquantile(_USUAL, dim=0)
    grown = (scale > config.reward_growth * usual) & (scale > config.reward_floor)
    explodes = grown | (scale > config.reward_scale)
    return Detection(grade_levels(explodes, explodes), scale[-1] / usual, config.reward_growth)


def words(scene: Scene) -> str:
    """Tell the scale now and before."""
    usual = float(scene.history["rollout/reward_scale"][:, scene.agent].nanquantile(_USUAL))
    now = scene.now("rollout/reward_scale")
    return (
        f"rewards are of size {now:.3g}, usually {usual:.3g} (limits: "
        f"{scene.config.reward_growth:g} times the usual, or {scene.config.reward_scale:g})"
    )


RULE = Detector(
    "REWARD_EXPLODES",
    check,
    words,
    "Look for a reward that feeds on itself or divides by something small; normalise or clip it.",
    cure="restart",
    patience=lambda config: 2,
    warms_up=False,
)
