"""The policy hardly draws lots any more: low entropy on the common scale."""

from __future__ import annotations

import torch

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import Detection, Detector, Scene, graded, softened
from tradingbot.learning.guards.evidence import decided, rests
from tradingbot.learning.guards.history import History

_DECIDED = " although its actions still differ from state to state"


def check(history: History, config: GuardConfig) -> Detection:
    """Compare the spread; a policy that is decided, not collapsed, counts one degree less."""
    spread = history["policy/spread"]
    level = graded(spread < config.spread, spread < config.spread_critical)
    level = torch.where(decided(history, config), (level - 1).clamp_min(0), level)
    excused = rests(history, config, config.one_action)
    return Detection(softened(level, excused), spread[-1], config.spread)


def words(scene: Scene) -> str:
    """Tell the spread, and whether actions still vary."""
    said = f"the spread of the policy is {scene.now('policy/spread'):.3f} "
    said += f"(limit {scene.config.spread:g}, critical {scene.config.spread_critical:g})"
    if scene.now("eval/entropy") >= scene.config.varied:
        said += _DECIDED
    return said


RULE = Detector(
    "LOW_SPREAD",
    check,
    words,
    "Raise the entropy bonus or hold it for longer; if that does not help, the reward has one "
    "answer for every state.",
    cure="entropy",
)
