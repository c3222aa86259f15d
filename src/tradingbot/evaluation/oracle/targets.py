"""The positions an oracle wants, bar by bar: its policy without its figures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.evaluation.oracle.action_rule import ActionRule, Information, require_cost
from tradingbot.evaluation.oracle.linear_oracle import VIEWS
from tradingbot.evaluation.oracle.regime_oracle import regime_positions, regime_problem
from tradingbot.evaluation.oracle.result import Terms
from tradingbot.evaluation.oracle.switching import solve_advantage, solve_signal

FloatArray = NDArray[np.float64]
REGIMES = "regimes"


def oracle_targets(
    market: SyntheticMarket,
    *,
    cost_frac: float,
    action_rule: ActionRule = ActionRule.LONG_ONLY,
    information: Information = Information.ATTAINABLE,
) -> FloatArray:
    """Follow the policy of `oracle_for` through a market.

    Returns:
        (T, N) position as a fraction of capital, decided at close t.

    Raises:
        ConfigError: If the cost is not allowed or no oracle is known for the market.
    """
    terms = Terms(require_cost(cost_frac), action_rule, information)
    if market.name == REGIMES:
        advantage = solve_advantage(regime_problem(market), cost_frac=cost_frac)
        return regime_positions(market, advantage, terms)
    if market.name not in VIEWS:
        raise ConfigError(
            "market must have an oracle",
            was=repr(market.name),
            remedy=suggest(market.name, (*VIEWS, REGIMES)),
        )
    view = VIEWS[market.name](market, information)
    thresholds, _ = solve_signal(view.model, cost_frac=cost_frac, action_rule=action_rule)
    return thresholds.positions(view.signal, lowest=action_rule.lowest)
