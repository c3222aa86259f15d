"""Signs in how capital is divided: all in one sleeve, and no reason for it."""

from __future__ import annotations

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import AlarmLevel, Detection, Detector, Scene, percent
from tradingbot.learning.guards.history import STANDARD_ERRORS, History


class OneSleeve(Detector, code="ONE_SLEEVE", cure="entropy", judges="weights"):
    """Capital stays in one sleeve although equal weight of all earns as much in the same bars."""

    remedy = (
        "Raise environment.portfolio.risk_aversion, so that risk that others would spread has a "
        "price; then look at what sets this sleeve apart in what the master sees."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the mean share of the largest sleeve; one that earns more is only told.

        The mean is over all bars of the play, so a sleeve that has all for a while only is none;
        cash counts as capital, so a portfolio that stays out has no large sleeve.
        """
        share, gain = history["eval/largest_sleeve_share"], history["eval/over_equal"]
        doubt = STANDARD_ERRORS * history["eval/over_equal_error"]
        holds = (share > config.one_sleeve) & gain.isfinite()
        found = Detection.of(share, config.one_sleeve, holds, holds & (gain < -doubt))
        return found.excused(gain > doubt)

    def words(self, scene: Scene) -> str:
        """Name the sleeve, its share, and what both divisions earned."""
        sleeve = scene.names.sleeves[int(scene.now("eval/largest_sleeve"))]
        share, limit = scene.now("eval/largest_sleeve_share"), percent(scene.config.one_sleeve)
        gain, error = scene.now("eval/over_equal"), scene.now("eval/over_equal_error")
        said = f"{percent(share)} of its capital is in sleeve {sleeve}, bar after bar (limit "
        said += f"{limit}), and it earns {gain:+.3g} ± {error:.2g} a step over equal weight of the "
        said += f"{len(scene.names.sleeves)} sleeves"
        reason = {
            AlarmLevel.INFO: ": that sleeve earns more",
            AlarmLevel.WARNING: ": no reason is seen for it",
            AlarmLevel.CRITICAL: ": all of them together earn more",
        }
        return said + reason[scene.severity]

    def patience(self, config: GuardConfig) -> int:
        """Say how long it must last: two plays."""
        return max(config.patience, config.probe_every + 1)
