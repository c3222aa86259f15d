"""The policy hardly draws lots any more: low entropy on the common scale."""

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
from tradingbot.learning.guards.evidence import is_decided, is_resting
from tradingbot.learning.guards.history import History

_DECIDED = " although its actions still differ from state to state"


def check(history: History, config: GuardConfig) -> Detection:
    """Compare the entropy; a policy that is decided, not collapsed, counts one degree less."""
    entropy = history["policy/normalised_entropy"]
    level = grade_levels(entropy < config.low_entropy, entropy < config.low_entropy_critical)
    level = torch.where(is_decided(history, config), (level - 1).clamp_min(0), level)
    excused = is_resting(history, config, config.one_action)
    return Detection(soften_levels(level, excused), entropy[-1], config.low_entropy)


def words(scene: Scene) -> str:
    """Tell the entropy, and whether actions still vary."""
    entropy = scene.now("policy/normalised_entropy")
    said = f"the normalised entropy of the policy is {entropy:.3f} "
    said += f"(limit {scene.config.low_entropy:g}, critical {scene.config.low_entropy_critical:g})"
    if scene.now("eval/entropy") >= scene.config.varied:
        said += _DECIDED
    return said


RULE = Detector(
    "LOW_ENTROPY",
    check,
    words,
    "Raise the entropy bonus or hold it for longer; if that does not help, the reward has one "
    "answer for every state.",
    cure="entropy",
)
