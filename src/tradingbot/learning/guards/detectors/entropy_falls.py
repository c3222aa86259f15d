"""The policy's entropy falls fast: the last moment at which exploration can be saved cheaply."""

from __future__ import annotations

import torch

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import Detection, Detector, Scene, graded, softened
from tradingbot.learning.guards.diagnosis import percent
from tradingbot.learning.guards.evidence import decided, rests
from tradingbot.learning.guards.history import History


def check(history: History, config: GuardConfig) -> Detection:
    """Compare the spread with that of some updates before; a high one may fall."""
    spread, span = history["policy/spread"], config.spread_fall_updates
    before = torch.full_like(spread, torch.nan)
    before[span:] = spread[:-span]
    lost = 1.0 - spread / before
    # Falling from anything-goes to the middle of the scale is learning.
    falls = (lost > config.spread_fall) & (spread < config.varied)
    resting = rests(history, config, config.one_action)
    # Told at once, so that luck of one update's exploration must not end the excuse.
    resting[1:] |= resting[:-1].clone()
    return Detection(
        softened(graded(falls), decided(history, config) | resting), lost[-1], config.spread_fall
    )


def words(scene: Scene) -> str:
    """Tell both spreads and the time between."""
    span, spread = scene.config.spread_fall_updates, scene.history["policy/spread"]
    before, now = float(spread[-1 - span, scene.agent]), scene.now("policy/spread")
    said = f"the spread of the policy fell from {before:.2f} to {now:.2f} in {span} updates"
    return f"{said}, by {percent(1.0 - now / before)} (limit {percent(scene.config.spread_fall)})"


RULE = Detector(
    "SPREAD_FALLS",
    check,
    words,
    "Lower the learning rate or the number of epochs, or hold the entropy bonus for longer.",
    cure="entropy",
    patience=lambda config: 1,
)
