"""Many tests at once: how many discoveries are false."""

from __future__ import annotations

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.statistics.inputs import require_share
from tradingbot.evaluation.statistics.sharpe import probabilistic_sharpe


def false_discovery_rate(*, prior: float, alpha: float, miss: float) -> float:
    """Return how many of the policies that pass a test at level α are worthless (pFDR).

    Args:
        prior: Share of policies that have skill before any test.
        alpha: Level of the test.
        miss: β, how often a policy with skill fails (`sharpe.miss_probability`).

    Source: López de Prado, Lipton & Zoonek, How to Use the Sharpe Ratio (2025).
    """
    require_share(prior, "prior")
    require_share(alpha, "alpha")
    if not 0.0 <= miss <= 1.0:
        raise DataError("miss must lie within [0, 1]", was=miss)
    false, true = alpha * (1.0 - prior), (1.0 - miss) * prior
    return false / (false + true)


def observed_false_discovery_rate(
    sharpe: float,
    *,
    n_bars: int,
    skew: float = 0.0,
    kurtosis: float = 3.0,
    target: float = 0.0,
    alternative: float = 0.5,
    prior: float = 0.05,
) -> float:
    """Return how many policies that do *as well as this one or better* are worthless (oFDR).

    Args:
        sharpe: Measured, per bar.
        n_bars: T, at least 4.
        skew: γ3.
        kurtosis: γ4, normal = 3.
        target: Sharpe ratio per bar of a worthless policy.
        alternative: Of one with skill.
        prior: Share of policies that have skill before any test.

    Source: López de Prado, Lipton & Zoonek, How to Use the Sharpe Ratio (2025).
    """
    require_share(prior, "prior")
    beyond_null, beyond = (
        1.0
        - probabilistic_sharpe(
            sharpe, n_bars=n_bars, skew=skew, kurtosis=kurtosis, target=true, variant="null"
        )
        for true in (target, alternative)
    )
    false = beyond_null * (1.0 - prior)
    return false / (false + beyond * prior)
