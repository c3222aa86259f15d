"""Every rule of the flight recorder, the gravest first."""

from tradingbot.learning.guards.detector import Detector
from tradingbot.learning.guards.detectors import (
    all_hold,
    dead_critic,
    few_trades,
    gradient_explodes,
    lives_on_noise,
    not_executed,
    not_finite,
    one_action,
    one_term,
    repeats,
    reward_explodes,
)
from tradingbot.learning.guards.detectors import entropy_falls as spread_falls
from tradingbot.learning.guards.detectors import low_entropy as low_spread

RULES: tuple[Detector, ...] = (
    not_finite.RULE,
    reward_explodes.RULE,
    gradient_explodes.RULE,
    one_action.RULE,
    low_spread.RULE,
    lives_on_noise.RULE,
    all_hold.RULE,
    not_executed.RULE,
    repeats.RULE,
    dead_critic.RULE,
    spread_falls.RULE,
    few_trades.RULE,
    one_term.RULE,
)

__all__ = ["RULES"]
