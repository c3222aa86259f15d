"""Nothing is done any more: HOLD, whatever the market does."""

from __future__ import annotations

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.evidence import idle_share, policy_pays, stays_out
from tradingbot.learning.guards.history import History
from tradingbot.learning.guards.rule import Finding, Rule, Scene, graded, softened
from tradingbot.learning.guards.verdict import Severity, percent


def check(history: History, config: GuardConfig) -> Finding:
    """Compare the share of steps without a deed; staying out for a reason is only told."""
    share = idle_share(history)
    holds = share >= config.idle
    excused = stays_out(history, config) | policy_pays(history)
    level = softened(graded(holds, holds), excused)
    return Finding(level, share[-1], config.idle)


def words(scene: Scene) -> str:
    """Tell the share, what exploring earns, and what doing nothing earns."""
    share = float(idle_share(scene.history)[-1, scene.agent])
    said = f"it does nothing in {percent(share)} of the steps (limit {percent(scene.config.idle)})"
    earned, idle = scene.now("rollout/reward_mean"), scene.now("eval/idle_reward")
    if scene.severity is Severity.INFO:
        return said + ": it stays out or holds, and trading would earn no more"
    if scene.now("rollout/unexecuted_share") > scene.config.unexecuted:
        unexecuted = percent(scene.now("rollout/unexecuted_share"))
        return said + f", not by choice: {unexecuted} of its selections are not executed"
    if scene.config.flat_is_allowed and earned > idle:
        return said + f" although exploring earns {earned:.3g} a step and doing nothing {idle:.3g}"
    return said


RULE = Rule(
    "ALL_HOLD",
    check,
    words,
    "Compare costs in the reward with costs in the account, and the edge with both; then raise the "
    "entropy bonus.",
    cure="entropy",
)
