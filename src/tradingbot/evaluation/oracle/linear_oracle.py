"""Oracles of the markets with a linear edge: each becomes a signal and a `SignalModel`.

A hidden edge is estimated by the steady-state Kalman filter of a scalar AR(1) state that shows only
in returns. State: s_{t+1} = φ s_t + w_{t+1}.  Observation: y_{t+1} = loading · s_t + v_{t+1}, where
w and v may be correlated. In the steady state the posterior mean is itself an AR(1) with
persistence φ and Gaussian steps, and a sufficient statistic: the problem with prices alone is the
problem with a weaker signal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tradingbot.data.synthetic.market import FloatArray, SyntheticMarket
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.oracle.action_rule import Information
from tradingbot.evaluation.oracle.result import Answer, Terms
from tradingbot.evaluation.oracle.switching import (
    SignalModel,
    follow_thresholds,
    solve_signal,
)
from tradingbot.evaluation.oracle.threshold_value import evaluate_thresholds
from tradingbot.evaluation.oracle.varying_strength import solve_varying


@dataclass(frozen=True)
class HiddenState:
    """A scalar AR(1) state and how returns show it; variances in squared units of each."""

    phi: float
    state_var: float
    """Stationary variance of the state."""
    loading: float
    """Return expected per unit of state."""
    noise_var: float
    """Variance of v, the return around its expectation."""
    cross_var: float = 0.0
    """Covariance of w and v: the part of a return that is the state's own step."""

    @property
    def step_var(self) -> float:
        """Variance of w."""
        return (1.0 - self.phi**2) * self.state_var

    @property
    def error_var(self) -> float:
        """Variance of the state given all returns so far.

        The positive root of the Riccati equation P = φ² P + Q - (φ P h + S)² / (h² P + R).
        """
        q, r, s, h = self.step_var, self.noise_var, self.cross_var, self.loading
        constant = q * r - s**2
        if constant <= 1e-12 * q * r:  # returns are the state's steps: it becomes known exactly
            return 0.0
        linear = r * (1.0 - self.phi**2) - q * h**2 + 2.0 * self.phi * h * s
        root = math.sqrt(linear**2 + 4.0 * h**2 * constant)
        # Of the two ways to write the root, the one that does not subtract like from like.
        return 2.0 * constant / (linear + root) if linear > 0.0 else (root - linear) / (2.0 * h**2)

    @property
    def gain(self) -> float:
        """Move of the estimate per unit of surprise in the return."""
        p = self.error_var
        return (self.phi * p * self.loading + self.cross_var) / (
            self.loading**2 * p + self.noise_var
        )

    @property
    def estimate_var(self) -> float:
        """Stationary variance of the posterior mean; what is known of the state."""
        return max(0.0, self.state_var - self.error_var)

    def estimate(self, returns: FloatArray) -> FloatArray:
        """Filter returns.

        Args:
            returns: (T, N) return of bar t, less its unconditional mean.

        Returns:
            (T, N) posterior mean of the state at close t from returns up to bar t; the filter
            starts from the unconditional mean with the steady gain.
        """
        estimates = np.empty_like(returns)
        current = np.zeros(returns.shape[1])
        gain = self.gain
        for t, row in enumerate(returns):
            current = self.phi * current + gain * (row - self.loading * current)
            estimates[t] = current
        return estimates


@dataclass(frozen=True)
class SignalView:
    """A market as one policy sees it."""

    model: SignalModel
    signal: FloatArray  # (T, N), unit variance, positive is good; known at close t
    strengths: FloatArray | None = None
    """(N,) strength of each symbol where they differ; `model` has the largest."""
    is_stationary: bool = True
    """False where the law changes once, which the policy follows but does not foresee."""
    premium_frac: float = 0.0
    """Mean return of a bar beside the signal's."""


def solve_linear(market: SyntheticMarket, terms: Terms) -> Answer:
    """Solve a market with a linear edge."""
    view = VIEWS[market.name](market, terms.information)
    answer = _solve_view(market, view, terms)
    return _with_premium(answer, view, terms) if view.premium_frac else answer


def _with_premium(answer: Answer, view: SignalView, terms: Terms) -> Answer:
    """Add what holding earns to the signal; not optimal, since thresholds do not know of it.

    Where there is no signal, all is held for good if the premium is positive.
    """
    targets = answer.targets
    if not view.model.strength_frac:
        held = 1.0 if view.premium_frac > 0.0 else terms.action_rule.lowest
        targets = np.full_like(targets, held)
    elif answer.thresholds is not None:
        shifted = view.signal + view.premium_frac / view.model.strength_frac
        targets = answer.thresholds.positions(shifted, lowest=terms.action_rule.lowest)
    earned = view.premium_frac * float(targets.mean())
    net_bps = (answer.net_bps or 0.0) + 1e4 * earned
    return replace(answer, targets=targets, is_optimal=False, net_bps=net_bps)


def _solve_view(market: SyntheticMarket, view: SignalView, terms: Terms) -> Answer:
    is_independent = float(market.params["correlation"]) == 0.0
    if view.strengths is not None:
        phi, lowest = view.model.phi, terms.action_rule.lowest
        found = solve_varying(view.strengths[None, :], phi=phi, terms=terms)
        return Answer(
            targets=follow_thresholds(view.signal, found.enter, found.exit, lowest=lowest),
            is_optimal=view.is_stationary,
            is_independent=is_independent,
            net_bps=float(found.gain.mean()) * 1e4,
        )
    thresholds, gain = solve_signal(
        view.model, cost_frac=terms.cost_frac, action_rule=terms.action_rule
    )
    expected = evaluate_thresholds(
        view.model, thresholds, cost_frac=terms.cost_frac, action_rule=terms.action_rule
    )
    return Answer(
        targets=thresholds.positions(view.signal, lowest=terms.action_rule.lowest),
        is_optimal=view.is_stationary,
        is_independent=is_independent,
        net_bps=gain * 1e4,
        turnover_frac=expected.turnover_frac,
        sharpe_per_bar=expected.sharpe_per_bar,
        thresholds=thresholds,
    )


def view_planted(market: SyntheticMarket, information: Information) -> SignalView:
    """See the covariate with the sign it has for each symbol and the next bar; nothing is hidden.

    Where signs turn, the old sign is followed up to the bar before, without regard to the turn: at
    most the cost of one exit per symbol is lost against a policy that knows the bar.
    """
    kappa, sign = market.latent["kappa"], market.latent["sign"]
    vol = float(market.params["vol_frac"])
    strengths = np.abs(kappa) * vol
    model = SignalModel(float(strengths.max()), float(market.params["phi"]), vol)
    coming = np.append(sign[1:], sign[-1:])
    return SignalView(
        model,
        coming[:, None] * np.where(kappa < 0.0, -1.0, 1.0) * market.covariates["signal"],
        strengths=strengths if np.ptp(strengths) > 0.0 else None,
        is_stationary=bool((sign == sign[0]).all()),
        premium_frac=float(market.latent["premium"][0]),
    )


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
    **dict.fromkeys(("planted", "opposed", "cost_trap", "noise"), view_planted),
    "hidden_trend": view_hidden_trend,
    "hidden_reversion": view_hidden_reversion,
}
