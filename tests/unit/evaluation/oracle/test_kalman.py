"""The steady filter against exact Gaussian conditioning, its own equations, and its limits."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.evaluation.oracle.linear_oracle import HiddenState


def trend(kappa: float, phi: float) -> HiddenState:
    return HiddenState(phi, state_var=1.0, loading=kappa, noise_var=1.0)


def reversion(share: float, phi: float) -> HiddenState:
    state_var = share / (2.0 * (1.0 - phi))
    step_var = (1.0 - phi**2) * state_var
    return HiddenState(phi, state_var, phi - 1.0, 1.0 - share + step_var, step_var)


STATES = [
    trend(0.15, 0.98),
    trend(1.0, 0.5),
    trend(5.0, 0.9),
    reversion(0.5, 0.9),
    reversion(0.9, 0.3),
    reversion(0.1, 0.98),
]


def sample(hidden: HiddenState, bars: int, symbols: int) -> tuple[np.ndarray, np.ndarray]:
    """States at close t and returns of bar t, drawn from the definition with correlated noise."""
    rng = np.random.default_rng(17)
    states = np.empty((bars + 1, symbols))
    states[0] = np.sqrt(hidden.state_var) * rng.standard_normal(symbols)
    covariance = [[hidden.step_var, hidden.cross_var], [hidden.cross_var, hidden.noise_var]]
    noise = rng.multivariate_normal([0.0, 0.0], covariance, size=(bars, symbols))
    returns = np.empty((bars, symbols))
    for t in range(bars):
        returns[t] = hidden.loading * states[t] + noise[t, :, 1]
        states[t + 1] = hidden.phi * states[t] + noise[t, :, 0]
    return states[1:], returns


@pytest.mark.parametrize("hidden", STATES)
def test_error_variance_is_the_limit_of_the_riccati_recursion(hidden):
    p = hidden.state_var
    for _ in range(5000):
        mixed = hidden.phi * p * hidden.loading + hidden.cross_var
        p = (
            hidden.phi**2 * p
            + hidden.step_var
            - mixed**2 / (hidden.loading**2 * p + hidden.noise_var)
        )

    assert hidden.error_var == pytest.approx(p, rel=1e-8)


@pytest.mark.parametrize("hidden", STATES)
def test_estimate_equals_exact_conditioning_on_all_returns(hidden):
    bars = 300
    _, returns = sample(hidden, bars, 1)
    rows = [np.zeros(2 * bars + 1)]  # state t as a linear function of (s_0, w_1.., v_1..)
    rows[0][0] = 1.0
    observed = []
    for t in range(bars):
        seen = hidden.loading * rows[-1]
        seen[1 + bars + t] += 1.0
        observed.append(seen)
        step = hidden.phi * rows[-1]
        step[1 + t] += 1.0
        rows.append(step)
    noise = np.zeros((2 * bars + 1, 2 * bars + 1))
    noise[0, 0] = hidden.state_var
    w, v = np.arange(1, bars + 1), np.arange(bars + 1, 2 * bars + 1)
    noise[w, w], noise[v, v] = hidden.step_var, hidden.noise_var
    noise[w, v] = noise[v, w] = hidden.cross_var
    seen = np.array(observed)

    exact = rows[-1] @ noise @ seen.T @ np.linalg.solve(seen @ noise @ seen.T, returns[:, 0])

    spread = np.sqrt(hidden.state_var)
    assert hidden.estimate(returns)[-1, 0] == pytest.approx(exact, abs=2e-4 * spread)


@pytest.mark.parametrize("hidden", STATES)
def test_estimate_has_the_promised_error_variance_and_persistence(hidden):
    states, returns = sample(hidden, 1500, 200)

    estimates = hidden.estimate(returns)[300:]

    errors = states[300:] - estimates
    assert errors.var() == pytest.approx(hidden.error_var, rel=0.05)
    assert estimates.var() == pytest.approx(hidden.estimate_var, rel=0.06)
    step = estimates[1:] - hidden.phi * estimates[:-1]
    scale = estimates.std() * step.std()
    assert np.mean(step * estimates[:-1]) / scale == pytest.approx(0.0, abs=0.01)
    assert np.mean(step[1:] * step[:-1]) / step.var() == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("hidden", [trend(0.0, 0.9), reversion(0.0, 0.9)])
def test_returns_without_information_leave_nothing_known(hidden):
    assert hidden.estimate_var == pytest.approx(0.0, abs=1e-12)
    assert hidden.gain == pytest.approx(0.0, abs=1e-12)


def test_returns_without_noise_leave_only_the_last_step_unknown():
    assert trend(1e4, 0.9).estimate_var == pytest.approx(0.81, abs=1e-4)
    assert reversion(1.0, 0.9).error_var == 0.0
    assert reversion(1.0, 0.9).gain == pytest.approx(1.0)


def test_more_strength_lets_more_be_known():
    known = [trend(kappa, 0.95).estimate_var for kappa in (0.01, 0.05, 0.1, 0.3, 1.0, 3.0)]
    shared = [
        reversion(share, 0.9).estimate_var / reversion(share, 0.9).state_var
        for share in (0.1, 0.3, 0.6, 0.9, 1.0)
    ]

    assert np.all(np.diff(known) > 0)
    assert np.all(np.diff(shared) > 0)
    assert shared[-1] == pytest.approx(1.0)
