"""Inference on one Sharpe ratio: its error, its probability, the track record it needs.

Sharpe ratios here are **per bar, never annualised**; skewness and **Pearson kurtosis (normal = 3)**
divide by T. What many trials do to the best of them lives in `deflation`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.statistics import inputs
from tradingbot.evaluation.statistics.inputs import NORMAL, spread_of

Variant = Literal["classic", "null"]
"""`classic`: variance at the estimate, divided by T − 1 (Bailey & López de Prado 2012). `null`:
variance at the Sharpe ratio tested against, divided by T (López de Prado, Lipton & Zoonek 2025)."""
MIN_BARS = 4
"""Fewer bars have no fourth moment to speak of."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class SharpeSample:
    """What every inference on a Sharpe ratio rests on."""

    sharpe: float
    """Per bar; NaN where nothing moves."""
    n_bars: int
    skew: float
    """Third moment ÷ σ³, dividing by T; NaN where nothing moves."""
    kurtosis: float
    """Fourth moment ÷ σ⁴, dividing by T; 3 for a normal distribution; NaN where nothing moves."""


def sharpe_ratio(returns: ArrayLike, *, risk_free_frac: float = 0.0) -> float:
    """Return mean ÷ standard deviation (T − 1) of simple returns, per bar.

    Args:
        returns: (T,) simple returns per bar.
        risk_free_frac: Return of cash **per bar**, taken off every return.

    Returns:
        NaN for fewer than two returns or where nothing moves; never infinite.

    Raises:
        DataError: If a return is NaN or infinite.
    """
    series = inputs.finite_series(returns, "returns") - risk_free_frac
    return float(series.mean() / spread_of(series)) if len(series) > 1 else math.nan


def measure_sharpe(returns: ArrayLike, *, risk_free_frac: float = 0.0) -> SharpeSample:
    """Measure ratio, length, skewness and kurtosis of (T,) simple returns per bar."""
    series = inputs.finite_series(returns, "returns")
    sharpe = sharpe_ratio(series, risk_free_frac=risk_free_frac)
    if math.isnan(sharpe):
        return SharpeSample(sharpe, len(series), math.nan, math.nan)
    scores = series - series.mean()
    scores = scores / np.abs(scores).max()
    second = float((scores**2).mean())
    skew = float((scores**3).mean()) / second**1.5
    kurtosis = float((scores**4).mean()) / second**2
    return SharpeSample(sharpe, len(series), skew, kurtosis)


def sharpe_error(
    sharpe: float,
    *,
    n_bars: float,
    skew: float = 0.0,
    kurtosis: float = 3.0,
    variant: Variant = "classic",
) -> float:
    """Return the standard error of a Sharpe ratio, per bar.

    Args:
        sharpe: At which the variance is evaluated, per bar.
        n_bars: T, at least 4; fewer where bars go together (`effective_bars`).
        skew: γ3.
        kurtosis: γ4, normal = 3.
        variant: Divides by T − 1 (`classic`) or T (`null`).

    Raises:
        DataError: If there are fewer bars, or no distribution has these moments.
    """
    divisor = _observations(n_bars) - (variant == "classic")
    return math.sqrt(_unit_variance(sharpe, skew, kurtosis) / divisor)


def probabilistic_sharpe(
    sharpe: float,
    *,
    n_bars: float,
    skew: float = 0.0,
    kurtosis: float = 3.0,
    target: float = 0.0,
    variant: Variant = "classic",
) -> float:
    """Return the probability that the true Sharpe ratio exceeds a target.

    Args:
        sharpe: Measured, per bar.
        n_bars: T, at least 4; fewer where bars go together (`effective_bars`).
        skew: γ3.
        kurtosis: γ4, normal = 3.
        target: SR*, per bar.
        variant: Where the variance is evaluated.

    Returns:
        Φ((SR − SR*) ÷ error); NaN where the ratio, a moment or the error is not defined.

    Raises:
        DataError: If there are fewer bars, or no distribution has these moments.
    """
    _require_variant(variant)
    at = sharpe if variant == "classic" else target
    error = sharpe_error(at, n_bars=n_bars, skew=skew, kurtosis=kurtosis, variant=variant)
    if math.isnan(sharpe) or math.isnan(target) or not error > 0.0:
        return math.nan
    return NORMAL.cdf((sharpe - target) / error)


def min_track_record(
    sharpe: float,
    *,
    skew: float = 0.0,
    kurtosis: float = 3.0,
    target: float = 0.0,
    alpha: float = 0.05,
    variant: Variant = "classic",
) -> float:
    """Return how many bars prove a Sharpe ratio above a target at level α.

    Returns:
        Bars, not whole; infinite where the ratio is not above the target (no length proves it);
        NaN where the ratio or a moment is.

    Raises:
        DataError: If no distribution has these moments.
        ConfigError: If α is not between 0 and 1.
    """
    inputs.require_share(alpha, "alpha")
    _require_variant(variant)
    variance = _unit_variance(sharpe if variant == "classic" else target, skew, kurtosis)
    if math.isnan(sharpe) or math.isnan(variance):
        return math.nan
    if sharpe <= target:
        return math.inf
    ratio = NORMAL.inv_cdf(1.0 - alpha) / (sharpe - target)
    return variance * ratio**2 + (1.0 if variant == "classic" else 0.0)


def miss_probability(
    *,
    n_bars: float,
    skew: float = 0.0,
    kurtosis: float = 3.0,
    target: float = 0.0,
    alternative: float = 0.5,
    alpha: float = 0.05,
) -> float:
    """Return β: how often a policy with the Sharpe ratio `alternative` fails a test at level α.

    Both ratios are per bar. The test rejects above `target` + Φ⁻¹(1 − α) errors at the target.

    Source: López de Prado, Lipton & Zoonek, How to Use the Sharpe Ratio (2025).
    """
    inputs.require_share(alpha, "alpha")
    shape = {"skew": skew, "kurtosis": kurtosis}
    null_error = sharpe_error(target, n_bars=n_bars, variant="null", **shape)
    error = sharpe_error(alternative, n_bars=n_bars, variant="null", **shape)
    critical = target + NORMAL.inv_cdf(1.0 - alpha) * null_error
    return NORMAL.cdf((critical - alternative) / error) if error > 0.0 else math.nan


def annualisation_factor(bars_per_year: int, autocorrelations: ArrayLike = ()) -> float:
    """Return η(q), by which a Sharpe ratio per bar becomes annual; √q for independent returns.

    Args:
        bars_per_year: q.
        autocorrelations: ρ_1, ρ_2 … of the returns; 0 beyond those given; those from q on are not
            needed.

    Raises:
        DataError: If no series has these autocorrelations.

    Source: Lo, The Statistics of Sharpe Ratios (2002).
    """
    count = inputs.require_count(bars_per_year, "bars_per_year")
    rho = inputs.finite_series(autocorrelations, "autocorrelations")[: count - 1]
    lags = np.arange(1, len(rho) + 1)
    variance = count + 2.0 * float(((count - lags) * rho).sum())
    if (np.abs(rho) > 1.0).any() or variance <= 0.0:
        raise DataError("autocorrelations must leave the yearly variance positive", was=variance)
    return count / math.sqrt(variance)


def _unit_variance(sharpe: float, skew: float, kurtosis: float) -> float:
    """Variance of a Sharpe ratio times T; ≥ 0 for every moment that a distribution can have."""
    if kurtosis < 1.0 + skew**2 - _ROUNDING * (1.0 + skew**2):
        rule = "kurtosis must be at least 1 + skew²"
        remedy = "Pass Pearson kurtosis (normal = 3), not excess kurtosis"
        raise DataError(rule, was=f"kurtosis {kurtosis:.6g}, skew {skew:.6g}", remedy=remedy)
    variance = 1.0 - skew * sharpe + (kurtosis - 1.0) / 4.0 * sharpe**2
    return variance if math.isnan(variance) else max(variance, 0.0)


def _observations(n_bars: float) -> float:
    if n_bars < MIN_BARS:
        raise DataError(f"n_bars must be {MIN_BARS} or more", was=n_bars)
    return n_bars


def _require_variant(variant: str) -> None:
    if variant not in ("classic", "null"):
        raise ConfigError("variant must be 'classic' or 'null'", was=repr(variant))
