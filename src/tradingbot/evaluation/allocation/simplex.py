"""Best weights on the simplex: mean–variance utility, maximised by projected gradients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_ROUNDS = 2_000
_TOLERANCE = 1e-10


def project_on_simplex(numbers: FloatArray) -> FloatArray:
    """Return the weights (K,), 0 or more with sum 1, that are nearest to numbers (K,).

    Source: Duchi et al. 2008, figure 1.

    Example:
        >>> project_on_simplex(np.array([0.5, 0.5, 2.0])).tolist()
        [0.0, 0.0, 1.0]
    """
    falling = np.sort(numbers)[::-1]
    excess = np.cumsum(falling) - 1.0
    count = np.arange(1, len(numbers) + 1)
    last = int(np.flatnonzero(falling - excess / count > 0.0)[-1])
    return np.asarray(np.maximum(numbers - excess[last] / (last + 1), 0.0))


def best_weights(mean: FloatArray, covariance: FloatArray, aversion: float) -> FloatArray:
    """Return the weights (K,) on the simplex that maximise w · mean − ½ aversion · w · cov · w.

    Cash is a part whose mean and covariances are 0. Accelerated projected gradient, Beck & Teboulle
    2009: the problem is concave, so what is found is the best.

    Args:
        mean: (K,) expected returns.
        covariance: (K, K), symmetric, without negative eigenvalues.
        aversion: Above 0.
    """
    width = len(mean)
    steepest = float(np.linalg.eigvalsh(covariance)[-1]) * aversion
    scale = max(steepest, float(np.abs(mean).max()), 1e-300)
    weights = ahead = np.full(width, 1.0 / width)
    pace = 1.0
    for _ in range(_ROUNDS):
        slope = mean - aversion * covariance @ ahead
        found = project_on_simplex(ahead + slope / scale)
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace**2))
        ahead = found + (pace - 1.0) / faster * (found - weights)
        moved = float(np.abs(found - weights).max())
        weights, pace = found, faster
        if moved < _TOLERANCE:
            break
    return weights


def with_cash(mean: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean (N + 1,) and covariance (N + 1, N + 1) of N sleeves and cash, which is last."""
    return np.append(mean, 0.0), np.pad(covariance, (0, 1))
