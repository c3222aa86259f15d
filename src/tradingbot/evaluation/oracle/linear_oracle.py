"""Oracles of the six markets with a linear edge: each becomes a signal and a `SignalModel`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.oracle.action_rule import Information
from tradingbot.evaluation.oracle.kalman import HiddenState
from tradingbot.evaluation.oracle.result import Answer, OracleResult, Terms, play, report
from tradingbot.evaluation.oracle.signal_model import SignalModel
from tradingbot.evaluation.oracle.switching import solve_signal
from tradingbot.evaluation.oracle.threshold_value import evaluate_thresholds

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class SignalView:
    """A market as one policy sees it."""

    model: SignalModel
    signal: FloatArray  # (T, N), unit variance, positive is good; known at close t


def solve_linear(market: SyntheticMarket, terms: Terms) -> OracleResult:
    """Solve a market with a linear edge and play the solution on it."""
    view = VIEWS[market.name](market, terms.information)
    thresholds, gain = solve_signal(
        view.model, cost_frac=terms.cost_frac, action_rule=terms.action_rule
    )
    expected = evaluate_thresholds(
        view.model, thresholds, cost_frac=terms.cost_frac, action_rule=terms.action_rule
    )
    targets = thresholds.positions(view.signal, lowest=terms.action_rule.lowest)
    answer = Answer(
        is_optimal=True,
        net_bps=gain * 1e4,
        turnover_frac=expected.turnover_frac,
        sharpe_per_bar=expected.sharpe_per_bar,
        thresholds=thresholds,
    )
    independent = float(market.params["correlation"]) == 0.0
    simulated = play(market, targets, cost_frac=terms.cost_frac, independent=independent)
    return report(market, terms, answer, simulated)


def view_planted(market: SyntheticMarket, information: Information) -> SignalView:
    """See the covariate with the sign it has for each symbol; nothing is hidden."""
    kappa = market.latent["kappa"]
    vol = float(market.params["vol_frac"])
    strength = float(np.abs(kappa).max()) * vol
    model = SignalModel(strength, float(market.params["phi"]), vol)
    return SignalView(model, np.where(kappa < 0.0, -1.0, 1.0) * market.covariates["signal"])


def view_hidden_trend(market: SyntheticMarket, information: Information) -> SignalView:
    """See the drift, or what returns so far say about it."""
    kappa, phi = float(market.params["kappa"]), float(market.params["phi"])
    vol = float(market.params["vol_frac"])
    if information is Information.OMNISCIENT:
        return SignalView(SignalModel(kappa * vol, phi, vol), market.latent["drift"])
    _require_independent(market)
    state = HiddenState(phi, state_var=1.0, loading=kappa * vol, noise_var=vol**2)
    estimates = state.estimate(market.closes / market.opens - 1.0)
    return _view_estimate(state, estimates)


def view_hidden_reversion(market: SyntheticMarket, information: Information) -> SignalView:
    """See the deviation, or what returns so far say about it.

    Log returns stand for simple ones: half the square of an expected return, below 0.01 bp at
    the default strength, is neglected.
    """
    phi, vol = float(market.params["phi"]), float(market.params["vol_frac"])
    share = float(market.params["share"])
    state_var = share * vol**2 / (2.0 * (1.0 - phi))
    step_var = (1.0 - phi**2) * state_var
    noise_var = (1.0 - share) * vol**2 + step_var
    state = HiddenState(phi, state_var, loading=phi - 1.0, noise_var=noise_var, cross_var=step_var)
    if information is Information.OMNISCIENT:
        deviation = market.latent["deviation"]
        model = SignalModel((1.0 - phi) * math.sqrt(state_var), phi, math.sqrt(noise_var))
        return SignalView(model, -deviation / math.sqrt(state_var) if state_var else deviation)
    _require_independent(market)
    log_returns = np.log(market.closes / market.opens) + 0.5 * vol**2
    return _view_estimate(state, state.estimate(log_returns))


def _view_estimate(state: HiddenState, estimates: FloatArray) -> SignalView:
    spread = math.sqrt(state.estimate_var)
    noise_var = state.noise_var + state.loading**2 * state.error_var
    model = SignalModel(abs(state.loading) * spread, state.phi, math.sqrt(noise_var))
    return SignalView(model, math.copysign(1.0, state.loading) * estimates / (spread or 1.0))


def _require_independent(market: SyntheticMarket) -> None:
    if float(market.params["correlation"]) > 0.0:
        raise ConfigError(
            "correlation must be 0 for the attainable answer of a hidden market",
            was=market.params["correlation"],
            where=market.name,
            remedy="The filter reads one symbol at a time; ask for the omniscient answer",
        )


VIEWS: dict[str, Callable[[SyntheticMarket, Information], SignalView]] = {
    "planted": view_planted,
    "opposed": view_planted,
    "cost_trap": view_planted,
    "noise": view_planted,
    "hidden_trend": view_hidden_trend,
    "hidden_reversion": view_hidden_reversion,
}
