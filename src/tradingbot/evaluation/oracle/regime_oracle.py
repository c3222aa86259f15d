"""Oracle of the `regimes` market: dynamic programming on the chain of regimes, symbol by symbol.

The state is the regime at the close; what a position decided there can expect of the next bar is
the drift of the regimes that may follow. That a new position misses the night's gap before its
fill is neglected in the solution (it costs a third of one bar's drift per switch, below 0.01
bp/bar) but not in the simulation.

Where the regime is hidden, a forward filter that knows the chain but not its path guesses it from
bars. The evidence is the spread between symbols within a bar, which each regime scales differently
and which the symbols' own volatility clusters blur little. Like every attainable answer the filter
is given the market's parameters, here what the spread is like in each regime; they are measured on
the market itself, with its labels. It sees no bar before that bar's close.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.synthetic.market import FloatArray, SyntheticMarket
from tradingbot.data.synthetic.regime_chain import stationary_shares
from tradingbot.evaluation.oracle import switching
from tradingbot.evaluation.oracle.action_rule import Information
from tradingbot.evaluation.oracle.result import Answer, Terms

_TEMPER = 0.5
"""Weight of a bar's evidence: neighbouring bars' spreads are correlated and say less than two."""
_SLOTS = 7  # bars of a session told apart; later ones are taken together
_MIN_BARS = 30  # of a regime before its own spread is measured
_FLOOR = 1e-12


def filter_regimes(market: SyntheticMarket) -> FloatArray:
    """Estimate the regime at each close.

    Returns:
        (T, K) probability of each regime given bars up to t; rows sum to one.
    """
    transition: FloatArray = market.latent["transition"]
    likelihood = np.exp(
        _TEMPER * _log_likelihood(log_spread(market), market.latent["regime"], len(transition))
    )
    belief = np.full(len(transition), 1.0 / len(transition))
    beliefs = np.empty_like(likelihood)
    for t, evidence in enumerate(likelihood):
        belief = (belief @ transition) * evidence
        belief /= belief.sum()
        beliefs[t] = belief
    return beliefs


def log_spread(market: SyntheticMarket) -> FloatArray:
    """(T,) log of the median distance of symbols' bar returns from their mean, per hour of day."""
    returns = market.closes / market.opens - 1.0
    distance = np.abs(returns - returns.mean(axis=1, keepdims=True))
    spread: FloatArray = np.log(np.maximum(np.median(distance, axis=1), _FLOOR))
    slot = _session_slot(market.latent["after_night"])
    for number in range(_SLOTS):
        here = slot == number
        if here.any():
            spread[here] -= spread[here].mean()
    return spread


def _session_slot(after_night: NDArray[np.bool_]) -> NDArray[np.int64]:
    bar = np.arange(len(after_night), dtype=np.int64)
    first = np.maximum.accumulate(np.where(after_night, bar, 0))
    return np.minimum(bar - first, _SLOTS - 1)


def _log_likelihood(spread: FloatArray, regime: NDArray[np.int64], regimes: int) -> FloatArray:
    """(T, K) normal log density of the spread, up to a constant, greatest 0 in each row."""
    columns = []
    for number in range(regimes):
        seen = spread[regime == number]
        sample = seen if len(seen) >= _MIN_BARS else spread
        scale = max(float(sample.std()), _FLOOR)
        columns.append(-0.5 * ((spread - sample.mean()) / scale) ** 2 - np.log(scale))
    scores = np.stack(columns, axis=1)
    return np.asarray(scores - scores.max(axis=1, keepdims=True))


def solve_regimes(market: SyntheticMarket, terms: Terms) -> Answer:
    """Solve the regime chain.

    Omniscient: the regime at the close is known, and the policy is the best. Attainable: a filter
    guesses the regime from past bars and the advantages are weighted with its belief; that is a
    reference within reach, not proved to be the best, and only the simulation gives its figures.
    """
    problem = regime_problem(market)
    advantage = switching.solve_advantage(problem, cost_frac=terms.cost_frac)
    gain = switching.gain_per_bar(
        problem, advantage, cost_frac=terms.cost_frac, action_rule=terms.action_rule
    )
    omniscient = terms.information is Information.OMNISCIENT
    return Answer(
        targets=regime_positions(market, advantage, terms),
        is_optimal=omniscient,
        net_bps=float(gain.mean()) * 1e4 if omniscient else None,
    )


def regime_problem(market: SyntheticMarket) -> switching.SwitchingProblem:
    """State the market as a chain with the return expected of the bar after each state."""
    transition: FloatArray = market.latent["transition"]
    return switching.SwitchingProblem(
        transition, stationary_shares(transition), transition @ market.latent["drift_total"]
    )


def regime_positions(market: SyntheticMarket, advantage: FloatArray, terms: Terms) -> FloatArray:
    """Follow the advantages (K, N) through time; (T, N) targets decided at close t."""
    if terms.information is Information.OMNISCIENT:
        expected = advantage[market.latent["regime"]]
    else:
        expected = filter_regimes(market) @ advantage
    # A layer switches where its advantage passes the cost, so the cost is the threshold.
    rule = switching.SwitchThresholds(terms.cost_frac, -terms.cost_frac)
    return rule.positions(expected, lowest=terms.action_rule.lowest)
