"""The one way in: a generated market and the terms of trade to the best policy known for it."""

from __future__ import annotations

from collections.abc import Callable

from tradingbot.data.synthetic.market import FloatArray, SyntheticMarket
from tradingbot.domain.errors import require_known
from tradingbot.evaluation.oracle.action_rule import DEFAULT_COST_FRAC, ActionRule, Information
from tradingbot.evaluation.oracle.linear_oracle import VIEWS, solve_linear
from tradingbot.evaluation.oracle.regime_oracle import solve_regimes
from tradingbot.evaluation.oracle.result import Answer, OracleResult, Terms, play
from tradingbot.evaluation.oracle.varying_strength import solve_spiked

_SOLVERS: dict[str, Callable[[SyntheticMarket, Terms], Answer]] = {
    **dict.fromkeys(VIEWS, solve_linear),
    "regimes": solve_regimes,
    "planted_regimes": solve_spiked,
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
    return solve_market(market, Terms(cost_frac, ActionRule(action_rule), Information(information)))


def solve_market(market: SyntheticMarket, terms: Terms) -> OracleResult:
    """Find the best policy known under some terms and play it; see `oracle_for`."""
    return play(market, terms, _answer(market, terms))


def oracle_targets(
    market: SyntheticMarket,
    *,
    cost_frac: float,
    information: Information = Information.ATTAINABLE,
    action_rule: ActionRule = ActionRule.LONG_ONLY,
) -> FloatArray:
    """Follow the policy of `oracle_for` through a market.

    Returns:
        (T, N) position as a fraction of capital, decided at close t.

    Raises:
        ConfigError: If the cost is not allowed or no oracle is known for the market.
    """
    return _answer(market, Terms(cost_frac, action_rule, information)).targets


def _answer(market: SyntheticMarket, terms: Terms) -> Answer:
    return _SOLVERS[require_known(market.name, _SOLVERS, "market must have an oracle")](
        market, terms
    )
