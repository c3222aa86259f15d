"""Oracle of the `regimes` market: dynamic programming on the chain of regimes, symbol by symbol.

The state is the regime at the close; what a position decided there can expect of the next bar is
the drift of the regimes that may follow. That a new position misses the night's gap before its
fill is neglected in the solution (it costs a third of one bar's drift per switch, below 0.01
bp/bar) but not in the simulation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.data.synthetic.regime_chain import stationary_shares
from tradingbot.evaluation.oracle.action_rule import Information
from tradingbot.evaluation.oracle.regime_filter import filter_regimes
from tradingbot.evaluation.oracle.result import Answer, OracleResult, Terms, play, report
from tradingbot.evaluation.oracle.signal_model import SwitchThresholds
from tradingbot.evaluation.oracle.switching import SwitchingProblem, gain_per_bar, solve_advantage

FloatArray = NDArray[np.float64]


def solve_regimes(market: SyntheticMarket, terms: Terms) -> OracleResult:
    """Solve the regime chain and play the solution.

    Omniscient: the regime at the close is known, and the policy is the best. Attainable: a filter
    guesses the regime from past bars and the advantages are weighted with its belief; that is a
    reference within reach, not proved to be the best, and only the simulation gives its figures.
    """
    problem = regime_problem(market)
    advantage = solve_advantage(problem, cost_frac=terms.cost_frac)
    gain = gain_per_bar(
        problem, advantage, cost_frac=terms.cost_frac, action_rule=terms.action_rule
    )
    omniscient = terms.information is Information.OMNISCIENT
    targets = regime_positions(market, advantage, terms)
    answer = Answer(is_optimal=omniscient, net_bps=float(gain.mean()) * 1e4 if omniscient else None)
    simulated = play(market, targets, cost_frac=terms.cost_frac, independent=False)
    return report(market, terms, answer, simulated)


def regime_problem(market: SyntheticMarket) -> SwitchingProblem:
    """State the market as a chain with the return expected of the bar after each state."""
    transition: FloatArray = market.latent["transition"]
    return SwitchingProblem(
        transition, stationary_shares(transition), transition @ market.latent["drift_total"]
    )


def regime_positions(market: SyntheticMarket, advantage: FloatArray, terms: Terms) -> FloatArray:
    """Follow the advantages (K, N) through time; (T, N) targets decided at close t."""
    if terms.information is Information.OMNISCIENT:
        expected = advantage[market.latent["regime"]]
    else:
        expected = filter_regimes(market) @ advantage
    # A layer switches where its advantage passes the cost, so the cost is the threshold.
    rule = SwitchThresholds(terms.cost_frac, -terms.cost_frac)
    return rule.positions(expected, lowest=terms.action_rule.lowest)
