"""Allocation rules: weights of N sleeves and cash from what was known at a close."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import MissingExtraError
from tradingbot.evaluation.allocation.simplex import best_weights, with_cash

FloatArray = NDArray[np.float64]

EQUAL_WEIGHT, FLAT = "equal weight", "all cash"
HIERARCHICAL = "hierarchical risk parity"
_SHRINKAGE = 0.1
"""Share of the covariance that is taken from its diagonal: estimates of 168 bars are noisy."""
_LEAST_VARIANCE = 1e-12


class KnownSleeves(NamedTuple):
    """What an allocation rule may know at a close."""

    returns: FloatArray
    """(L, N) simple returns of the sleeves over the last L bars, net of their own costs."""
    confidence: FloatArray
    """(N,) how sure agents are, in [0, 1]."""
    aversion: float
    """Weight of half the variance, 1 or more."""

    @property
    def covariance(self) -> FloatArray:
        """(N, N), a tenth of it from the diagonal."""
        found = np.atleast_2d(np.cov(self.returns.T)) + _LEAST_VARIANCE * np.eye(self.n_sleeves)
        return (1.0 - _SHRINKAGE) * found + _SHRINKAGE * np.diag(np.diag(found))

    @property
    def n_sleeves(self) -> int:
        """N."""
        return len(self.confidence)


AllocationRule = Callable[[KnownSleeves], FloatArray]
"""What was known → weights (N + 1,), cash last."""


def equal_weight(known: KnownSleeves) -> FloatArray:
    """Give every sleeve the same."""
    return _invested(np.ones(known.n_sleeves))


def inverse_volatility(known: KnownSleeves) -> FloatArray:
    """Give every sleeve as much as its deviation is small."""
    return _invested(1.0 / np.sqrt(np.diag(known.covariance)))


def minimum_variance(known: KnownSleeves) -> FloatArray:
    """Give as varies least, without cash."""
    nothing = np.zeros(known.n_sleeves)
    return np.append(best_weights(nothing, known.covariance, 1.0), 0.0)


def mean_variance(known: KnownSleeves) -> FloatArray:
    """Give as the past mean and covariance say is best, cash among it (Markowitz 1952)."""
    mean, covariance = with_cash(known.returns.mean(axis=0), known.covariance)
    return best_weights(mean, covariance, known.aversion)


def hierarchical_risk_parity(known: KnownSleeves) -> FloatArray:
    """Divide risk along a tree of correlations (López de Prado 2016), by skfolio.

    Raises:
        MissingExtraError: If skfolio is not installed.
    """
    try:
        from skfolio.optimization import HierarchicalRiskParity
    except ImportError as e:
        raise MissingExtraError("folds", package="skfolio") from e
    moving = known.returns.std(axis=0) > 0.0
    if moving.sum() < 2:
        return inverse_volatility(known)
    model = HierarchicalRiskParity()
    model.fit(known.returns[:, moving])
    weights = np.zeros(known.n_sleeves)
    weights[moving] = model.weights_
    return _invested(weights)


def confidence_weighted(known: KnownSleeves) -> FloatArray:
    """Give every sleeve as much as its agent is sure; nothing where none is."""
    return _invested(known.confidence)


def best_single(known: KnownSleeves) -> FloatArray:
    """Give all to the sleeve with the highest past Sharpe ratio."""
    spread = np.sqrt(np.diag(known.covariance))
    return _invested(np.eye(known.n_sleeves)[int(np.argmax(known.returns.mean(axis=0) / spread))])


def all_cash(known: KnownSleeves) -> FloatArray:
    """Give nothing."""
    return _invested(np.zeros(known.n_sleeves))


ALLOCATION_RULES: Mapping[str, AllocationRule] = MappingProxyType(
    {
        EQUAL_WEIGHT: equal_weight,
        "inverse volatility": inverse_volatility,
        "minimum variance": minimum_variance,
        "mean-variance": mean_variance,
        HIERARCHICAL: hierarchical_risk_parity,
        "confidence-weighted": confidence_weighted,
        "best single agent": best_single,
        FLAT: all_cash,
    }
)
"""What a master is compared with, by name."""


def _invested(amounts: FloatArray) -> FloatArray:
    """Return weights (N + 1,) in proportion to amounts (N,) of 0 or more; cash if all are 0."""
    total = amounts.sum()
    if total <= 0.0:
        return np.append(np.zeros(len(amounts)), 1.0)
    return np.append(amounts / total, 0.0)
