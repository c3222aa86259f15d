"""How the agents of a run hang together on the test part: what they share, and what each one adds.

Everything is of net returns per bar of equal sleeves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.portfolio_run import PortfolioRun
from tradingbot.evaluation.analyses.settings import EnsembleSettings
from tradingbot.evaluation.dossier.analysis import Ensemble
from tradingbot.evaluation.statistics.sharpe import sharpe_ratio


def measure_ensemble(subject: EvaluatedRun, settings: EnsembleSettings) -> Ensemble:
    """Analyse the agents that trade; those that stay out have no returns to compare.

    Of a portfolio, those of its sleeves, each by its own account.

    Raises:
        DataError: If the test part has too few bars.
    """
    played = subject.backtest("test")
    if isinstance(subject, PortfolioRun):  # its agents are those of the sleeves
        alone = subject.sleeve_returns(played)
        moves = np.flatnonzero(alone.any(axis=0))
        names = [played.traded[i] for i in moves]
        return analyse_ensemble(alone[:, moves], names, bars_per_year=subject.bars_per_year)
    exposure = np.abs(played.position_frac).mean(axis=0)
    trading = np.flatnonzero(exposure >= settings.min_exposure_frac)
    return analyse_ensemble(
        played.returns[:, trading],
        [played.symbols[i] for i in trading],
        bars_per_year=subject.bars_per_year,
    )


FloatArray = NDArray[np.float64]

REDUNDANT_CORRELATION = 0.9
"""Two agents above this are one agent paid for twice."""


def analyse_ensemble(
    net_returns: FloatArray, agents: Sequence[str], *, bars_per_year: float
) -> Ensemble:
    """Say how agents hang together.

    Args:
        net_returns: (S, N) simple returns per bar of the agents that trade, finite.
        agents: N names.
        bars_per_year: Annualises the marginal Sharpe ratios.

    Raises:
        DataError: If shapes disagree, a return is not a number, or there are fewer than two bars.
    """
    _require(net_returns, agents)
    correlation = correlation_of(net_returns)
    order = clustered_order(correlation)
    placed = correlation[np.ix_(order, order)]
    names = tuple(agents[i] for i in order)
    marginal = marginal_sharpe(net_returns) * math.sqrt(bars_per_year)
    return Ensemble(
        agents=names,
        correlation=tuple(tuple(float(x) for x in row) for row in placed),
        mean_correlation=_mean_off_diagonal(correlation),
        effective_agents=effective_number(correlation),
        diversification_ratio=diversification_ratio(net_returns),
        redundant=_redundant_pairs(placed, names),
        marginal_sharpe=tuple((agents[i], float(marginal[i])) for i in order),
    )


def correlation_of(net_returns: FloatArray) -> FloatArray:
    """Correlate columns (S, N) → (N, N); one that never moves goes with nothing but itself."""
    centred = net_returns - net_returns.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=0))
    unit = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0.0)
    correlation: FloatArray = np.clip(unit.T @ unit, -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def effective_number(correlation: FloatArray) -> float:
    """Return (Σλ)² ÷ Σλ² of a correlation matrix (N, N): N where nothing is shared, 1 where all is.

    Σλ is the trace and Σλ² the sum of squared entries, so no eigenvalue has to be computed. NaN
    without agents.
    """
    if not correlation.size:
        return math.nan
    return float(np.trace(correlation) ** 2 / np.sum(correlation**2))


def diversification_ratio(net_returns: FloatArray) -> float:
    """Return the mean deviation of columns (S, N) ÷ that of their mean; NaN where nothing moves."""
    if not net_returns.shape[1]:
        return math.nan
    whole = float(net_returns.mean(axis=1).std())
    return float(net_returns.std(axis=0).mean() / whole) if whole > 0.0 else math.nan


def marginal_sharpe(net_returns: FloatArray) -> FloatArray:
    """Return what each agent adds to the Sharpe ratio per bar of all together, (N,).

    The portfolio is the mean of the columns (S, N); without agent i it is the mean of the others.
    An only agent adds all there is. A ratio of what never moves is 0.
    """
    count = net_returns.shape[1]
    if count <= 1:
        return np.nan_to_num([sharpe_ratio(column) for column in net_returns.T])
    total = net_returns.sum(axis=1)
    without = (total[:, None] - net_returns) / (count - 1)
    ratios = np.nan_to_num([sharpe_ratio(column) for column in (total / count, *without.T)])
    return np.asarray(ratios[0] - ratios[1:])


def clustered_order(correlation: FloatArray) -> list[int]:
    """Order rows of a correlation matrix (N, N) so that what goes together stands together.

    Average linkage on the distance 1 − ρ: the two nearest groups are joined, one behind the other,
    until one is left. Ties go to the earlier rows.
    """
    groups = [[i] for i in range(len(correlation))]
    distance = 1.0 - correlation
    np.fill_diagonal(distance, np.inf)
    while len(groups) > 1:
        first, second = sorted(divmod(int(distance.argmin()), len(groups)))
        sizes = len(groups[first]), len(groups[second])
        joined = (sizes[0] * distance[first] + sizes[1] * distance[second]) / sum(sizes)
        distance[first], distance[:, first] = joined, joined
        distance[first, first] = np.inf
        distance = np.delete(np.delete(distance, second, axis=0), second, axis=1)
        groups[first] = groups[first] + groups.pop(second)
    return groups[0] if groups else []


def _redundant_pairs(
    correlation: FloatArray, names: Sequence[str]
) -> tuple[tuple[str, str, float], ...]:
    places = np.argwhere(np.triu(correlation > REDUNDANT_CORRELATION, k=1)).tolist()
    pairs = [(names[i], names[j], float(correlation[i, j])) for i, j in places]
    return tuple(sorted(pairs, key=lambda pair: (-pair[2], pair[:2])))


def _mean_off_diagonal(correlation: FloatArray) -> float:
    count = len(correlation)
    if count < 2:
        return math.nan
    return float((correlation.sum() - np.trace(correlation)) / (count * (count - 1)))


def _require(net_returns: FloatArray, agents: Sequence[str]) -> None:
    if net_returns.ndim != 2 or net_returns.shape[1] != len(agents):
        rule = "returns must have a column for each agent"
        raise DataError(rule, was=net_returns.shape, where=f"{len(agents)} agents")
    if len(net_returns) < 2 or not np.isfinite(net_returns).all():
        raise DataError(
            "returns must be numbers of two bars or more",
            was=f"{len(net_returns)} bars, {int((~np.isfinite(net_returns)).sum())} not finite",
        )
