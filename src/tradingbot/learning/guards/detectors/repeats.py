"""The same trade again and again: no limit on repeats holds."""

from __future__ import annotations

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import Detection, Detector, Scene, grade_levels
from tradingbot.learning.guards.diagnosis import percent
from tradingbot.learning.guards.history import History


def check(history: History, config: GuardConfig) -> Detection:
    """Compare the share of steps that repeat a trade once too often; holding is no trade."""
    share = history["rollout/repeat_share"]
    return Detection(grade_levels(share > config.repeat_share), share[-1], config.repeat_share)


def words(scene: Scene) -> str:
    """Tell the share and the longest run."""
    share, run = scene.now("rollout/repeat_share"), scene.now("rollout/longest_run")
    said = f"{percent(share)} of its steps repeat a trade more than {scene.config.repeats} times"
    return f"{said} (limit {percent(scene.config.repeat_share)}), {run:,.0f} times at most"


RULE = Detector(
    "REPEATS",
    check,
    words,
    "Limit repeats in the environment's rules, or weigh the reward term for repeats.",
    cure="entropy",
)
