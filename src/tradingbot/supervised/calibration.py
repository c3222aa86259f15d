"""Probabilities made honest on bars the model was not fitted on: one temperature, two biases.

A temperature alone would push a model that knows nothing towards thirds; with biases it goes to the
base rates. A normal prior around "leave it as it is" (deviation 0.5 of the temperature, 0.1 of a
bias) keeps few labels from deciding much. Convex, so the optimum is unique and found by Newton's
method.

Source: Guo et al. 2017 (arXiv:1706.04599); Alexandari et al. 2020 (arXiv:1901.06852).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.supervised.labels import UNKNOWN, FloatArray, LabelArray

Real = NDArray[np.floating[Any]]

_LEAST = 1e-9
_ROUNDS = 50
_TOLERANCE = 1e-10
_PRIOR = np.array([1.0, 0.0, 0.0])
_PRIOR_DEVIATION = np.array([0.5, 0.1, 0.1])
_BIASED = (0, 2)  # flat is the class the biases are measured against
MIN_LABELS = 100
"""Fewer labels than this do not change a model: it stays as it was fitted."""


@dataclass(frozen=True)
class Calibration:
    """Calibrated logits = `inverse_temperature` · ln p + bias."""

    inverse_temperature: float = 1.0
    """≥ 0; 0: the model's opinion is worth nothing."""
    down_bias: float = 0.0
    up_bias: float = 0.0
    n: int = 0
    """Labels it was fitted on; 0: none, probabilities stay as they are."""

    def apply(self, probabilities: Real) -> FloatArray:
        """Calibrate probabilities (…, 3); float64, rows sum to 1."""
        chance = np.asarray(probabilities, dtype=np.float64)
        if not self.n:
            return chance
        bias = np.array([self.down_bias, 0.0, self.up_bias])
        return _softmax(self.inverse_temperature * np.log(np.maximum(chance, _LEAST)) + bias)


def fit_calibration(probabilities: Real, labels: LabelArray, *, overlap: int = 1) -> Calibration:
    """Choose the most probable temperature and biases.

    Args:
        probabilities: (…, 3) of a model that did not see these bars.
        labels: (…) what happened; UNKNOWN is left out.
        overlap: How many labels share their news, being of neighbouring bars or of symbols that
            move together: these count as one.

    Returns:
        The identity where there are fewer than `MIN_LABELS` labels.
    """
    known = labels != UNKNOWN
    truth = labels[known].astype(np.int64)
    if len(truth) < MIN_LABELS:
        return Calibration()
    logs = np.log(np.maximum(np.asarray(probabilities, dtype=np.float64)[known], _LEAST))
    design = np.zeros((len(truth), 3, 3))  # (K, class, parameter)
    design[:, :, 0] = logs
    for parameter, each in enumerate(_BIASED, start=1):
        design[:, each, parameter] = 1.0
    penalty = overlap / len(truth) / _PRIOR_DEVIATION**2
    found = _minimise(design, truth, _PRIOR, penalty, free=slice(0, 3))
    if found[0] < 0.0:  # worse than useless: keep the base rates only
        found = _minimise(design, truth, np.zeros(3), penalty, free=slice(1, 3))
    return Calibration(float(found[0]), float(found[1]), float(found[2]), len(truth))


def _minimise(
    design: FloatArray,
    truth: NDArray[np.int64],
    start: FloatArray,
    penalty: FloatArray,
    *,
    free: slice,
) -> FloatArray:
    """Newton's method with halved steps on mean log loss and prior over the free parameters."""
    point, rows = start.copy(), np.arange(len(truth))
    loss = _loss(design, truth, point, penalty)
    for _ in range(_ROUNDS):
        chance = _softmax(design @ point)
        mean = np.einsum("kc,kcp->kp", chance, design)
        gradient = (mean - design[rows, truth]).mean(axis=0) + penalty * (point - _PRIOR)
        second = np.einsum("kc,kcp,kcq->pq", chance, design, design) / len(truth)
        curvature = second - mean.T @ mean / len(truth) + np.diag(penalty)
        step = np.zeros(3)
        step[free] = np.linalg.solve(curvature[free, free], gradient[free])
        after = _loss(design, truth, point - step, penalty)
        while after > loss and np.abs(step).max() > _TOLERANCE:
            step *= 0.5
            after = _loss(design, truth, point - step, penalty)
        if loss - after < _TOLERANCE:
            break
        point, loss = point - step, after
    return point


def _loss(
    design: FloatArray, truth: NDArray[np.int64], point: FloatArray, penalty: FloatArray
) -> float:
    logits = design @ point
    top = logits.max(axis=1)
    norm = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
    loss = (norm - logits[np.arange(len(truth)), truth]).mean()
    return float(loss + 0.5 * (penalty * np.square(point - _PRIOR)).sum())


def _softmax(logits: FloatArray) -> FloatArray:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
