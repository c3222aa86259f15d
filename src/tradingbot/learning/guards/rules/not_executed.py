"""What agents select is not what happens: masks, limits or an empty account decide for them."""

from __future__ import annotations

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.history import History
from tradingbot.learning.guards.rule import Finding, Rule, Scene, graded
from tradingbot.learning.guards.verdict import percent


def check(history: History, config: GuardConfig) -> Finding:
    """Compare the share of selections that were not carried out."""
    share = history["rollout/unexecuted_share"]
    level = graded(share > config.unexecuted, share > config.unexecuted_critical)
    return Finding(level, share[-1], config.unexecuted)


def words(scene: Scene) -> str:
    """Tell the share, and how often nothing was executed at all."""
    share, idle = scene.now("rollout/unexecuted_share"), scene.now("rollout/idle_share")
    said = f"{percent(share)} of its selections are not executed "
    said += f"(limit {percent(scene.config.unexecuted)}); {percent(idle)} of its steps do nothing"
    return said


RULE = Rule(
    "NOT_EXECUTED",
    check,
    words,
    "Look at denials and at equity: the account may be ruined by costs that the reward does not "
    "show. Settings of the learner cannot repair an environment.",
    cure="none",
)
