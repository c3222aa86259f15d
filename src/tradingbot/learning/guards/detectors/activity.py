"""Signs in what agents do: nothing, one trade again and again, or not what they chose."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import AlarmLevel, Detection, Detector, Scene, percent
from tradingbot.learning.guards.history import History


class AllHold(Detector, code="ALL_HOLD", cure="entropy"):
    """Nothing is done any more: HOLD, whatever the market does."""

    remedy = (
        "Compare costs in the reward with costs in the account, and the edge with both; then raise "
        "the entropy bonus."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the share of steps without a deed; resting for a reason is only told.

        It is critical unless the policy itself still trades: what is explored may rest meanwhile,
        as positions do that creep within the band of no trade and jump once they are rounded.
        """
        share, stopped = _share(history), history.is_stopped(config)
        holds = share >= config.idle
        trades = (history["eval/idle_share"] < config.idle) & ~stopped
        excused = history.is_resting(config, config.idle) | history.policy_pays()
        return Detection.of(share, config.idle, holds, holds & ~trades).excused(excused & ~stopped)

    def words(self, scene: Scene) -> str:
        """Tell the share, and why it is or is not in order."""
        share = float(_share(scene.history)[-1, scene.agent])
        said = f"it does nothing in {percent(share)} of the steps "
        said += f"(limit {percent(scene.config.idle)})"
        unexecuted = scene.now("rollout/unexecuted_share")
        if scene.severity is AlarmLevel.INFO:
            return said + ": it stays out or holds, and trading would earn no more"
        if unexecuted > scene.config.unexecuted:
            said += f", not by choice: {percent(unexecuted)} of its selections are not executed"
            return said
        earned, idle = scene.now("rollout/reward_mean"), scene.now("eval/idle_reward")
        return said + f"; exploring earns {earned:.3g} a step, doing nothing {idle:.3g}"


class NotExecuted(Detector, code="NOT_EXECUTED", cure="none"):
    """What agents select is not what happens: masks, limits or an empty account decide for them."""

    remedy = (
        "Look at denials and at equity: the account may be ruined by costs that the reward does "
        "not show. Settings of the learner cannot repair an environment."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the share of selections that were not carried out."""
        share = history["rollout/unexecuted_share"]
        limit, critical = config.unexecuted, config.unexecuted_critical
        return Detection.of(share, limit, share > limit, share > critical)

    def words(self, scene: Scene) -> str:
        """Tell what was asked for, what happened instead, and why that matters."""
        share, idle = scene.now("rollout/unexecuted_share"), scene.now("rollout/idle_share")
        trades, asked = scene.now("rollout/voluntary_share"), scene.bin_name("rollout/largest_code")
        said = f"{percent(share)} of its selections are not executed "
        said += f"(limit {percent(scene.config.unexecuted)}): it asks for {asked} most often, yet "
        said += f"{percent(idle)} of its steps do nothing and {percent(trades)} trade; "
        return said + "its rewards are not those of what it chose, so it cannot learn from them"


class Repeats(Detector, code="REPEATS", cure="entropy", judges="choices"):
    """The same trade again and again: no limit on repeats holds."""

    remedy = "Limit repeats in the environment's rules, or weigh the reward term for repeats."

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the share of steps that repeat a trade once too often; holding is no trade."""
        share = history["rollout/repeat_share"]
        return Detection.of(share, config.repeat_share, share > config.repeat_share)

    def words(self, scene: Scene) -> str:
        """Tell the share and the longest run."""
        share, run = scene.now("rollout/repeat_share"), scene.now("rollout/longest_run")
        said = f"{percent(share)} of its steps repeat a trade more than {scene.config.repeats} "
        return f"{said}times (limit {percent(scene.config.repeat_share)}), {run:,.0f} times at most"


class FewTrades(Detector, code="FEW_TRADES", cure="entropy"):
    """Hardly any trades."""

    remedy = (
        "Compare costs with the edge that the market offers; then look at masks, limits and the "
        "smallest order."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the share of steps with a trade of its own; holding that earns is excused."""
        share = history["rollout/voluntary_share"]
        excused = history.policy_pays() | history.is_resting(config, config.idle)
        excused &= ~history.is_stopped(config)
        return Detection.of(share, config.trades, share < config.trades).excused(excused)

    def words(self, scene: Scene) -> str:
        """Tell the share, and the excuse if there is one."""
        said = (
            f"it trades in {percent(scene.now('rollout/voluntary_share'))} of the steps by choice "
        )
        said += f"(limit {percent(scene.config.trades)})"
        if scene.severity is AlarmLevel.INFO:
            said += ", which costs it nothing"
        return said


class FewActions(Detector, code="FEW_ACTIONS", cure="entropy"):
    """Agents keep to a few of their actions; off unless a number of them is asked for."""

    remedy = "Look at masks and at what the unused actions pay; then raise the entropy bonus."

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the different actions of 120 steps; resting for a reason is only told."""
        count, limit = history["rollout/distinct_actions"], config.distinct_actions
        found = Detection.of(count, limit, count < limit)
        return found.excused(history.is_resting(config, config.idle))

    def words(self, scene: Scene) -> str:
        """Tell the number."""
        count, limit = scene.now("rollout/distinct_actions"), scene.config.distinct_actions
        return f"it selects {count:.2g} different actions in 120 steps (limit {limit:g})"


class ExecutionGap(Detector, code="EXECUTION_GAP", cure="none"):
    """What is carried out is distributed otherwise than what is chosen: a rule corrects agents."""

    remedy = (
        "Look at what is corrected: masks, max_repeats, limits and the smallest order. Show agents "
        "what corrects them, or price violations (reward term intrinsic_action)."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the gap between both histograms of codes, and the share that was corrected."""
        gap, share = history["rollout/executed_gap"], history["rollout/violations"]
        wrong = (gap > config.executed_gap) | (share > config.violations)
        return Detection.of(gap, config.executed_gap, wrong)

    def words(self, scene: Scene) -> str:
        """Tell the gap and the share."""
        gap, share = scene.now("rollout/executed_gap"), scene.now("rollout/violations")
        limits = percent(scene.config.executed_gap), percent(scene.config.violations)
        said = f"executed actions are {percent(gap)} apart from the chosen ones (limit {limits[0]})"
        return f"{said}, and {percent(share)} of them were corrected (limit {limits[1]})"


def _share(history: History) -> Tensor:
    return torch.fmax(history["rollout/idle_share"], history["eval/idle_share"])
