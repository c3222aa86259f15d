"""Signs in what agents aim for: goals that are never reached, one option for everything."""

from __future__ import annotations

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import Detection, Detector, Scene, percent
from tradingbot.learning.guards.history import History


class GoalsMissed(Detector, code="GOALS_MISSED", cure="none"):
    """Goals are never reached: a reward that says nothing else teaches nothing."""

    remedy = (
        "Learn in hindsight (learner.sac.hindsight.strategy: future), ask for less, or pay for "
        "what is nearly reached (environment.goal.reward: partial)."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the share of episodes that met their goal; unknown where there are no goals."""
        share, limit = history["goal/success"], config.goal_success
        return Detection.of(share, limit, share <= limit)

    def words(self, scene: Scene) -> str:
        """Tell the share."""
        share, limit = scene.now("goal/success"), percent(scene.config.goal_success)
        said = f"{percent(share)} of its episodes end at their goal (limit {limit}) for "
        return f"{said}{scene.config.term_patience} updates"

    def patience(self, config: GuardConfig) -> int:
        """Say how long it must last."""
        return config.term_patience


class OneOption(Detector, code="ONE_OPTION", cure="entropy"):
    """One option takes all: what chooses among options does not choose any more."""

    remedy = (
        "Look at which options are available at all (options.* of the settings), and at what they "
        "pay per bar; then raise learner.hierarchical_sac.controller_entropy."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the share of steps under one option; unknown where there are none."""
        share, limit = history["options/largest_share"], config.one_option
        critical = share > config.one_option_critical
        return Detection.of(share, limit, share > limit, critical)

    def words(self, scene: Scene) -> str:
        """Name the option and its share."""
        share, limit = scene.now("options/largest_share"), percent(scene.config.one_option)
        number = int(scene.now("options/largest"))
        names = scene.names.options
        name = names[number] if number < len(names) else f"number {number}"
        return f"{percent(share)} of its steps are made under the option {name} (limit {limit})"
