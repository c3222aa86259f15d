"""What many trials do to the best of them: expected maximum, deflated Sharpe, length of a backtest.

The number of trials is the ledger's, not the number of reported ones. Ratios are per bar.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.statistics.inputs import NORMAL, finite_matrix, moves
from tradingbot.evaluation.statistics.sharpe import probabilistic_sharpe

_NODES = 200


def expected_maximum(n_trials: float, *, exact: bool = False) -> float:
    """Return the expected largest of N independent standard normal numbers.

    Args:
        n_trials: N ≥ 1; need not be whole, since effective trials are not.
        exact: Integrate instead of the usual approximation, which is up to 3 % high; N whole.

    Returns:
        0 for one trial: nothing was chosen.

    Raises:
        ConfigError: If N is below 1.

    Source: Bailey & López de Prado, The Deflated Sharpe Ratio (2014).
    """
    if not 1.0 <= n_trials < math.inf:
        raise ConfigError("n_trials must be 1 or more", was=n_trials)
    if n_trials == 1.0:
        return 0.0
    if exact:
        return _integrated_maximum(n_trials)
    likely, rare = (NORMAL.inv_cdf(1.0 - 1.0 / count) for count in (n_trials, n_trials * math.e))
    # Between one and two trials the approximation would fall below zero.
    return max(0.0, (1.0 - np.euler_gamma) * likely + np.euler_gamma * rare)


def trial_variance(sharpes: Sequence[float | None], *, bars: int) -> float:
    """Estimate the variance of Sharpe ratios per bar across trials.

    It is their sample variance, and at least that of a Sharpe ratio that is all luck,
    1 ÷ (bars − 1): trials that are nearly the same, or that never came to a result, must not make
    a search look smaller than it was.

    Args:
        sharpes: One per trial; None where it never came to a result.
        bars: Of the track that is judged, 2 or more.
    """
    known = np.array([each for each in sharpes if each is not None], dtype=np.float64)
    luck = 1.0 / max(bars - 1, 1)
    return max(float(known.var(ddof=1)), luck) if len(known) > 1 else luck


def deflated_target(*, trial_variance: float, n_trials: float) -> float:
    """Return SR0, the Sharpe ratio per bar that the best of N worthless trials is expected to have.

    Args:
        trial_variance: Variance of the trials' Sharpe ratios, **per bar** (annual ÷ bars per year).
        n_trials: N independent trials.

    Raises:
        ConfigError: If N is below 1.
        DataError: If the variance is negative or infinite.
    """
    if trial_variance < 0.0 or math.isinf(trial_variance):
        raise DataError("trial_variance must be a number of 0 or more", was=trial_variance)
    maximum = expected_maximum(n_trials)
    return math.sqrt(trial_variance) * maximum if maximum else 0.0


def deflated_sharpe(
    sharpe: float,
    *,
    n_bars: float,
    skew: float = 0.0,
    kurtosis: float = 3.0,
    trial_variance: float,
    n_trials: float,
) -> float:
    """Return the probability that the best of N trials has any skill: PSR against SR0.

    Args:
        sharpe: Of the chosen trial, per bar.
        n_bars: T, at least 4.
        skew: γ3.
        kurtosis: γ4, normal = 3.
        trial_variance: Variance of the trials' Sharpe ratios, per bar.
        n_trials: N independent trials, by the ledger (see `effective_trials`).

    Returns:
        NaN where the ratio, a moment or (for N > 1) the variance is not defined.

    Raises:
        DataError: If there are fewer bars or no distribution has these moments.
        ConfigError: If N is below 1.
    """
    target = deflated_target(trial_variance=trial_variance, n_trials=n_trials)
    return probabilistic_sharpe(sharpe, n_bars=n_bars, skew=skew, kurtosis=kurtosis, target=target)


def effective_trials(mean_correlation: float, n_trials: int) -> float:
    """Return how many independent trials M correlated ones are worth: ρ̄ + (1 − ρ̄)·M.

    A negative mean correlation counts as none, so that the result never exceeds M.

    Raises:
        ConfigError: If M is below 1 or ρ̄ outside [−1, 1].
    """
    if n_trials < 1 or not -1.0 <= mean_correlation <= 1.0:
        rule = "n_trials must be 1 or more and mean_correlation within [−1, 1]"
        raise ConfigError(rule, was=f"{n_trials}, {mean_correlation}")
    rho = max(mean_correlation, 0.0)
    return rho + (1.0 - rho) * n_trials


def mean_correlation(trial_returns: ArrayLike) -> float:
    """Return the mean correlation between different columns of (T, M) returns.

    A column that never moves counts as independent of the others, which errs on the side of more
    trials. One column alone has a mean correlation of 0.
    """
    matrix = finite_matrix(trial_returns, "trial_returns", at_least=2)
    count = int(matrix.shape[1])
    if count == 1:
        return 0.0
    moving = matrix[:, moves(matrix)]
    scores = moving - moving.mean(axis=0)
    scores = scores / np.linalg.norm(scores, axis=0)
    # Σ of all correlations is the squared length of the summed unit vectors.
    together = float((scores.sum(axis=1) ** 2).sum()) - scores.shape[1]
    return float(together / (count * (count - 1)))


def min_backtest_years(n_trials: float, *, target_annual: float = 1.0) -> float:
    """Return the years below which the best of N worthless trials is expected to reach a target.

    Args:
        n_trials: N.
        target_annual: Annual Sharpe ratio that would impress, above 0.

    Returns:
        (E[max] ÷ target)²; at most 2·ln N ÷ target².

    Source: Bailey, Borwein, López de Prado & Zhu, Pseudo-Mathematics and Financial Charlatanism
    (2014).
    """
    if not target_annual > 0.0:
        raise ConfigError("target_annual must be above 0", was=target_annual)
    return (expected_maximum(n_trials) / target_annual) ** 2


def _integrated_maximum(n_trials: float) -> float:
    """∫ z·N·φ(z)·Φ(z)^(N − 1) dz by Gauss–Hermite quadrature."""
    nodes, weights = np.polynomial.hermite.hermgauss(_NODES)
    points = math.sqrt(2.0) * nodes
    below = np.array([NORMAL.cdf(point) for point in points])
    return float((weights * n_trials * points * below ** (n_trials - 1.0)).sum()) / math.sqrt(
        math.pi
    )
