"""The best policy known for each synthetic market, by dynamic programming, checked by simulation.

`oracle_for` is the way in; nothing here may be used by a learner, because it reads latent state.
"""

from tradingbot.evaluation.oracle.action_rule import DEFAULT_COST_FRAC, ActionRule, Information
from tradingbot.evaluation.oracle.known_answers import known_answers
from tradingbot.evaluation.oracle.market_oracle import oracle_for
from tradingbot.evaluation.oracle.result import OracleResult, Simulated, Terms
from tradingbot.evaluation.oracle.signal_model import SignalModel, SwitchThresholds
from tradingbot.evaluation.oracle.simulation import simulate_targets
from tradingbot.evaluation.statistics.interval import Interval

__all__ = [
    "DEFAULT_COST_FRAC",
    "ActionRule",
    "Information",
    "Interval",
    "OracleResult",
    "SignalModel",
    "Simulated",
    "SwitchThresholds",
    "Terms",
    "known_answers",
    "oracle_for",
    "simulate_targets",
]
