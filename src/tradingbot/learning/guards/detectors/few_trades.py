"""Hardly any trades."""

from __future__ import annotations

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import (
    Detection,
    Detector,
    Scene,
    grade_levels,
    soften_levels,
)
from tradingbot.learning.guards.diagnosis import AlarmLevel, percent
from tradingbot.learning.guards.evidence import is_resting, is_stopped, policy_pays
from tradingbot.learning.guards.history import History


def check(history: History, config: GuardConfig) -> Detection:
    """Compare the share of steps with a trade; holding that earns, and staying out, are excused."""
    share = history["rollout/trade_share"]
    excused = policy_pays(history) | is_resting(history, config, config.idle)
    excused &= ~is_stopped(history, config)
    level = soften_levels(grade_levels(share < config.trades), excused)
    return Detection(level, share[-1], config.trades)


def words(scene: Scene) -> str:
    """Tell the share, and the excuse if there is one."""
    said = f"it trades in {percent(scene.now('rollout/trade_share'))} of the steps "
    said += f"(limit {percent(scene.config.trades)})"
    if scene.severity is AlarmLevel.INFO:
        said += ", which costs it nothing"
    return said


RULE = Detector(
    "FEW_TRADES",
    check,
    words,
    "Compare costs with the edge that the market offers; then look at masks, limits and the "
    "smallest order.",
    cure="entropy",
)
