"""The steady-state Kalman filter of a scalar AR(1) state that shows only in returns.

State: s_{t+1} = φ s_t + w_{t+1}.  Observation: y_{t+1} = loading · s_t + v_{t+1}, where w and v
may be correlated. In the steady state the posterior mean is itself an AR(1) with persistence φ
and Gaussian steps, and a sufficient statistic: the problem with prices alone is the problem with
a weaker signal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


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
