"""The gradient norm before clipping grows out of all proportion."""

from __future__ import annotations

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import Detection, Detector, Scene, grade_levels
from tradingbot.learning.guards.history import History

_USUAL = 0.25
"""Quantile of the ring buffer that counts as usual."""


def check(history: History, config: GuardConfig) -> Detection:
    """Compare the norm with its usual size; small ones may grow."""
    norm = history["loss/gradient_norm"]
    growth = norm / norm.nanquantile(_USUAL, dim=0)
    matters = norm > config.gradient_floor
    level = grade_levels(
        (growth > config.gradient_growth) & matters, (growth > config.gradient_growth**2) & matters
    )
    return Detection(level, growth[-1], config.gradient_growth)


def words(scene: Scene) -> str:
    """Tell the norm now and before."""
    usual = float(scene.history["loss/gradient_norm"][:, scene.agent].nanquantile(_USUAL))
    now = scene.now("loss/gradient_norm")
    return (
        f"the gradient norm is {now:.3g}, usually {usual:.3g} (limit "
        f"{scene.config.gradient_growth:g} times the usual)"
    )


RULE = Detector(
    "GRADIENT_EXPLODES",
    check,
    words,
    "Lower the learning rate; look for rewards or features without bounds.",
    cure="restart",
)
