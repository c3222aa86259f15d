"""One action makes up most of the last selections: how the first version failed."""

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
from tradingbot.learning.guards.diagnosis import AlarmLevel, percent
from tradingbot.learning.guards.evidence import is_resting, is_stopped
from tradingbot.learning.guards.history import History


def check(history: History, config: GuardConfig) -> Detection:
    """Compare the largest share of the window, once the window is full.

    Doing nothing most of the time is how positions are held: of it, only the critical share counts.
    """
    # Where updates are so small that all that is kept does not fill the window, that must do.
    full = history["rollout/selections"] >= config.window
    full |= torch.tensor(len(history.steps) >= config.kept_updates)
    share = torch.where(full, history["rollout/largest_share"], torch.nan)
    level = grade_levels(share > config.one_action, share > config.one_action_critical)
    holds = (history["rollout/idle_share"] > config.one_action) & ~is_stopped(history, config)
    excused = is_resting(history, config, config.one_action)
    excused |= holds & (share <= config.one_action_critical)
    return Detection(soften_levels(level, excused), share[-1], config.one_action)


def words(scene: Scene) -> str:
    """Name the action and its share."""
    share, count = scene.now("rollout/largest_share"), scene.now("rollout/selections")
    said = f"{percent(share)} of the last {count:,.0f} selections are "
    said += f"{scene.bin_name('rollout/largest_code')} (limit {percent(scene.config.one_action)})"
    if scene.severity is AlarmLevel.INFO:
        said += ": it mostly holds or stays out"
    return said


RULE = Detector(
    "ONE_ACTION",
    check,
    words,
    "Look at the reward first: does this action pay whatever the market does? Then limit repeats, "
    "raise the entropy bonus, or use continuous actions.",
    cure="entropy",
)
