"""Every rule of the flight recorder, the gravest first."""

from tradingbot.learning.guards.detector import Detector
from tradingbot.learning.guards.detectors import (
    all_hold,
    dead_critic,
    entropy_falls,
    few_trades,
    gradient_explodes,
    lives_on_noise,
    low_entropy,
    not_executed,
    not_finite,
    one_action,
    one_term,
    repeats,
    reward_explodes,
)

RULES: tuple[Detector, ...] = (
    not_finite.RULE,
    reward_explodes.RULE,
    gradient_explodes.RULE,
    one_action.RULE,
    low_entropy.RULE,
    lives_on_noise.RULE,
    all_hold.RULE,
    not_executed.RULE,
    repeats.RULE,
    dead_critic.RULE,
    entropy_falls.RULE,
    few_trades.RULE,
    one_term.RULE,
)

__all__ = ["RULES"]
