"""The policy's entropy falls fast: the last moment at which exploration can be saved cheaply."""

from __future__ import annotations

import torch

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import (
    Detection,
    Detector,
    Scene,
    grade_levels,
    soften_levels,
)
from tradingbot.learning.guards.diagnosis import percent
from tradingbot.learning.guards.evidence import is_decided, is_resting
from tradingbot.learning.guards.history import History


def check(history: History, config: GuardConfig) -> Detection:
    """Compare the normalised entropy with that of some updates before; a high one may fall."""
    entropy, span = history["policy/normalised_entropy"], config.entropy_fall_updates
    before = torch.full_like(entropy, torch.nan)
    before[span:] = entropy[:-span]
    lost = 1.0 - entropy / before
    # Falling from anything-goes to the middle of the scale is learning.
    falls = (lost > config.entropy_fall) & (entropy < config.varied)
    resting = is_resting(history, config, config.one_action)
    # Told at once, so that luck of one update's exploration must not end the excuse.
    resting[1:] |= resting[:-1].clone()
    return Detection(
        soften_levels(grade_levels(falls), is_decided(history, config) | resting),
        lost[-1],
        config.entropy_fall,
    )


def words(scene: Scene) -> str:
    """Tell both entropies and the time between."""
    span, entropy = scene.config.entropy_fall_updates, scene.history["policy/normalised_entropy"]
    before, now = float(entropy[-1 - span, scene.agent]), scene.now("policy/normalised_entropy")
    said = f"the normalised entropy of the policy fell from {before:.2f} to {now:.2f} in {span}"
    lost, limit = percent(1.0 - now / before), percent(scene.config.entropy_fall)
    return f"{said} updates, by {lost} (limit {limit})"


RULE = Detector(
    "ENTROPY_FALLS",
    check,
    words,
    "Lower the learning rate or the number of epochs, or hold the entropy bonus for longer.",
    cure="entropy",
    patience=lambda config: 1,
)
