"""Nothing is done any more: HOLD, whatever the market does."""

from __future__ import annotations

import torch
from torch import Tensor

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
    """Compare the share of steps without a deed; resting for a reason is only told."""
    share = _share(history)
    holds = share >= config.idle
    excused = is_resting(history, config, config.idle) | policy_pays(history)
    level = soften_levels(grade_levels(holds, holds), excused & ~is_stopped(history, config))
    return Detection(level, share[-1], config.idle)


def words(scene: Scene) -> str:
    """Tell the share, and why it is or is not in order."""
    share = float(_share(scene.history)[-1, scene.agent])
    said = f"it does nothing in {percent(share)} of the steps (limit {percent(scene.config.idle)})"
    unexecuted = scene.now("rollout/unexecuted_share")
    if scene.severity is AlarmLevel.INFO:
        return said + ": it stays out or holds, and trading would earn no more"
    if unexecuted > scene.config.unexecuted:
        return said + f", not by choice: {percent(unexecuted)} of its selections are not executed"
    earned, idle = scene.now("rollout/reward_mean"), scene.now("eval/idle_reward")
    return said + f"; exploring earns {earned:.3g} a step, doing nothing {idle:.3g}"


def _share(history: History) -> Tensor:
    return torch.fmax(history["rollout/idle_share"], history["eval/idle_share"])


RULE = Detector(
    "ALL_HOLD",
    check,
    words,
    "Compare costs in the reward with costs in the account, and the edge with both; then raise the "
    "entropy bonus.",
    cure="entropy",
)
