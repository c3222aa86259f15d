"""Signs in what agents are paid by: curiosity beside the reward, one objective of several."""

from __future__ import annotations

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import Detection, Detector, Scene, percent
from tradingbot.learning.guards.history import History


class IntrinsicDominates(Detector, code="INTRINSIC_DOMINATES", cure="none"):
    """Curiosity pays more than it should: agents live on what they cannot predict."""

    remedy = (
        "Lower curiosity.mix or curiosity.max_share. Where the task pays next to nothing any more, "
        "ask why first: an agent that has stopped trading earns nothing but its bonus."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the bonus's share of what was paid; unknown without curiosity."""
        share, limit = history["curiosity/share"], config.intrinsic_share
        critical = share > config.intrinsic_share_critical
        return Detection.of(share, limit, share > limit, critical)

    def words(self, scene: Scene) -> str:
        """Tell the share."""
        share, limit = scene.now("curiosity/share"), percent(scene.config.intrinsic_share)
        return f"{percent(share)} of what it is paid is its bonus for surprise (limit {limit})"


class OneObjective(Detector, code="ONE_OBJECTIVE", cure="none"):
    """One objective weighs as much as it may, or more: the others are decoration."""

    remedy = (
        "Look at objectives/credit: if only this objective goes with growth, leave the others out "
        "of task.reward_weights; else raise objectives.pull or lower objectives.max_weight."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the largest mean weight; unknown where objectives are not weighed."""
        weight, limit = history["objectives/largest_weight"], config.one_objective
        return Detection.of(weight, limit, weight > limit)

    def words(self, scene: Scene) -> str:
        """Tell the weight."""
        weight, limit = scene.now("objectives/largest_weight"), percent(scene.config.one_objective)
        return f"one objective weighs {percent(weight)} on the mean over its steps (limit {limit})"

    def patience(self, config: GuardConfig) -> int:
        """Say how long it must last."""
        return config.term_patience
