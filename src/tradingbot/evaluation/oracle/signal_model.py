"""The form that every market with a linear edge is brought into before it is solved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class SignalModel:
    """Next bar's expected simple return is `strength_frac` · x, x an AR(1) of unit variance."""

    strength_frac: float
    """Expected simple return of the next bar per unit of signal, ≥ 0."""
    phi: float
    """Persistence of the signal per bar, in [0, 1)."""
    noise_frac: float
    """Standard deviation of the return around its expectation."""

    @property
    def innovation(self) -> float:
        """Standard deviation of the signal's step around φ · x."""
        return math.sqrt(1.0 - self.phi**2)


class SwitchThresholds(NamedTuple):
    """Hold the largest position from x ≥ enter until x ≤ exit, then the smallest."""

    enter: float
    exit: float

    @classmethod
    def never(cls) -> SwitchThresholds:
        """The policy that stays flat."""
        return cls(math.inf, -math.inf)

    @property
    def is_flat(self) -> bool:
        """True where the policy never takes a position."""
        return math.isinf(self.enter)

    def positions(self, signal: FloatArray, *, lowest: float) -> FloatArray:
        """Follow the rule through time.

        Args:
            signal: (T, N) signal known at close t.
            lowest: Position after an exit: 0 or -1.

        Returns:
            (T, N) target position decided at close t; 0 before the first threshold is met.
        """
        bar = np.arange(len(signal))[:, None]
        last_enter = np.maximum.accumulate(np.where(signal >= self.enter, bar, -1), axis=0)
        last_exit = np.maximum.accumulate(np.where(signal <= self.exit, bar, -1), axis=0)
        held = np.where(last_enter >= last_exit, 1.0, lowest)
        return np.where((last_enter < 0) & (last_exit < 0), 0.0, held)
