"""The best policy known for each synthetic market, by dynamic programming, checked by simulation.

`oracle_for` is the way in; nothing here may be used by a learner, because it reads latent state.
"""

from tradingbot.evaluation.oracle.action_rule import ActionRule, Information
from tradingbot.evaluation.oracle.market_oracle import oracle_for
from tradingbot.evaluation.oracle.simulation import simulate_targets

__all__ = ["ActionRule", "Information", "oracle_for", "simulate_targets"]
