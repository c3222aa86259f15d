"""The one way in: a generated market and the terms of trade to the best policy known for it."""

from __future__ import annotations

from collections.abc import Callable

from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.evaluation.oracle.action_rule import (
    DEFAULT_COST_FRAC,
    ActionRule,
    Information,
    require_cost,
)
from tradingbot.evaluation.oracle.linear_oracle import VIEWS, solve_linear
from tradingbot.evaluation.oracle.regime_oracle import solve_regimes
from tradingbot.evaluation.oracle.result import OracleResult, Terms

_SOLVERS: dict[str, Callable[[SyntheticMarket, Terms], OracleResult]] = {
    **dict.fromkeys(VIEWS, solve_linear),
    "regimes": solve_regimes,
}


def oracle_for(
    market: SyntheticMarket,
    *,
    cost_frac: float = DEFAULT_COST_FRAC,
    action_rule: ActionRule = ActionRule.LONG_ONLY,
    information: Information = Information.ATTAINABLE,
) -> OracleResult:
    """Find the best policy known for a market and play it there.

    Args:
        market: A generated market; its latent state is read.
        cost_frac: Cost per unit of turnover.
        action_rule: Which positions are allowed.
        information: What the policy may know. Where the signal is observable both are the same.

    Raises:
        ConfigError: If the cost is not allowed or no oracle is known for the market.
        DataError: If the market is too small for an interval.
    """
    if market.name not in _SOLVERS:
        raise ConfigError(
            "market must have an oracle",
            was=repr(market.name),
            remedy=suggest(market.name, _SOLVERS),
        )
    terms = Terms(require_cost(cost_frac), ActionRule(action_rule), Information(information))
    return _SOLVERS[market.name](market, terms)
