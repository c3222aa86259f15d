"""What agents select is not what happens: masks, limits or an empty account decide for them."""

from __future__ import annotations

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import Detection, Detector, Scene, grade_levels
from tradingbot.learning.guards.diagnosis import percent
from tradingbot.learning.guards.history import History


def check(history: History, config: GuardConfig) -> Detection:
    """Compare the share of selections that were not carried out."""
    share = history["rollout/unexecuted_share"]
    level = grade_levels(share > config.unexecuted, share > config.unexecuted_critical)
    return Detection(level, share[-1], config.unexecuted)


def words(scene: Scene) -> str:
    """Tell what was asked for, what happened instead, and why that matters."""
    share, idle = scene.now("rollout/unexecuted_share"), scene.now("rollout/idle_share")
    trades, asked = scene.now("rollout/trade_share"), scene.bin_name("rollout/largest_code")
    said = f"{percent(share)} of its selections are not executed "
    said += f"(limit {percent(scene.config.unexecuted)}): it asks for {asked} most often, yet "
    said += f"{percent(idle)} of its steps do nothing and {percent(trades)} trade; "
    return said + "its rewards are not those of what it chose, so it cannot learn from them"


RULE = Detector(
    "NOT_EXECUTED",
    check,
    words,
    "Look at denials and at equity: the account may be ruined by costs that the reward does not "
    "show. Settings of the learner cannot repair an environment.",
    cure="none",
)
