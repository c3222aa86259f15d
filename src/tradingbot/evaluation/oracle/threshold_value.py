"""What a two-threshold policy is expected to earn on an AR(1) signal.

Independent of `switching`: nothing is iterated over time and no grid of positions exists. Between
the thresholds the chance q(x) of being on solves a Fredholm equation with a smooth kernel (the
stationary AR(1) is reversible, so looking back one bar is looking forward one bar):

    q(x) = P(x' ≥ enter | x) + ∫ k(x, y) q(y) dy      over exit < y < enter

which 64 Gauss-Legendre nodes solve; all moments are then integrals. Six digits or better (tested).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tradingbot.evaluation.oracle.action_rule import ActionRule
from tradingbot.evaluation.oracle.switching import FloatArray, SignalModel, SwitchThresholds

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_FAR = 9.0  # standard deviations beyond which the signal's density is nothing
_erfc: Callable[[FloatArray], FloatArray] = np.vectorize(math.erfc, otypes=[np.float64])


@dataclass(frozen=True)
class PolicyValue:
    """Expected figures of a policy in the stationary state, per bar and symbol."""

    gross_bps: float
    """Return before costs."""
    net_bps: float
    """Return after costs."""
    turnover_frac: float
    """Mean absolute change of position."""
    exposure_frac: float
    """Mean absolute position."""
    sharpe_per_bar: float
    """Mean over standard deviation of the net return of one bar; 0 for the flat policy."""


def evaluate_thresholds(
    model: SignalModel,
    thresholds: SwitchThresholds,
    *,
    cost_frac: float,
    action_rule: ActionRule = ActionRule.LONG_ONLY,
) -> PolicyValue:
    """Compute what a two-threshold policy earns; `exit` must not exceed `enter`."""
    if thresholds.is_flat:
        return PolicyValue(0.0, 0.0, 0.0, 0.0, 0.0)
    moments = _layer_moments(model, thresholds)
    width, lowest, strength = action_rule.width, action_rule.lowest, model.strength_frac
    gross = width * strength * moments.signal_on
    turnover = width * 2.0 * moments.entry_rate
    net = gross - cost_frac * turnover
    off_squared = lowest**2
    square_exposure = moments.on_rate + off_squared * (1.0 - moments.on_rate)
    square_signal = moments.square_on + off_squared * (1.0 - moments.square_on)
    traded_signal = strength * width * (moments.entry_signal + lowest * moments.exit_signal)
    second_moment = (
        strength**2 * square_signal
        + model.noise_frac**2 * square_exposure
        + cost_frac**2 * width * turnover
        - 2.0 * cost_frac * traded_signal
    )
    return PolicyValue(
        gross_bps=gross * 1e4,
        net_bps=net * 1e4,
        turnover_frac=turnover,
        exposure_frac=moments.on_rate - lowest * (1.0 - moments.on_rate),
        sharpe_per_bar=net / math.sqrt(second_moment - net**2),
    )


@dataclass(frozen=True)
class _LayerMoments:
    on_rate: float  # P(on)
    signal_on: float  # E[x; on]
    square_on: float  # E[x²; on]
    entry_rate: float  # P(off before, on after)
    entry_signal: float  # E[x; entry]
    exit_signal: float  # E[x; exit]


def _layer_moments(model: SignalModel, thresholds: SwitchThresholds) -> _LayerMoments:
    enter, leave = thresholds
    inner, weight = _nodes_between(leave, enter)
    kernel = _density((inner[None, :] - model.phi * inner[:, None]) / model.innovation)
    system = np.eye(len(inner)) - kernel * weight / model.innovation
    on = np.linalg.solve(system, _chance_above(model, inner, enter))
    mass = weight * _density(inner)
    low, low_weight = _nodes_between(-_FAR, leave)
    high, high_weight = _nodes_between(enter, _FAR)
    off_points = np.concatenate([low, inner])
    off_mass = np.concatenate([low_weight * _density(low), mass * (1.0 - on)])
    on_points = np.concatenate([high, inner])
    on_mass = np.concatenate([high_weight * _density(high), mass * on])
    return _LayerMoments(
        on_rate=float(on_mass.sum()),
        signal_on=float(on_mass @ on_points),
        square_on=float(on_mass @ on_points**2),
        entry_rate=float(off_mass @ _chance_above(model, off_points, enter)),
        entry_signal=float(off_mass @ _mean_above(model, off_points, enter)),
        exit_signal=-float(on_mass @ _mean_above(model, -on_points, -leave)),
    )


def _nodes_between(low: float, high: float) -> tuple[FloatArray, FloatArray]:
    half = 0.5 * (high - low)
    return low + half * (_NODES + 1.0), half * _WEIGHTS


def _density(z: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi))


def _chance_above(model: SignalModel, x: FloatArray, bound: float) -> FloatArray:
    return 0.5 * _erfc((bound - model.phi * x) / (model.innovation * math.sqrt(2.0)))


def _mean_above(model: SignalModel, x: FloatArray, bound: float) -> FloatArray:
    """E[x'; x' ≥ bound | x]."""
    z = (bound - model.phi * x) / model.innovation
    return model.phi * x * _chance_above(model, x, bound) + model.innovation * _density(z)
