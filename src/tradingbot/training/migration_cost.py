"""What a migrated policy keeps of what the old one earned: the factor of its mean, and the cost.

Both policies are deterministic and play the same bars, net of costs. The factor is chosen on
training bars; the cost is measured on validation, from which nothing was learned. The first half of
validation chose the old policy's weights, which flatters the old policy there, not the new one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.evaluation.statistics.policy_intervals import net_bps_interval

Returns = NDArray[np.floating]
"""(S, N) simple returns of N agents over S bars."""
FACTORS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Tried in this order; at 16 hardly anything is left between buying and selling all."""
GOAL_FRAC = 0.1
"""What the plan lets a migration cost at most, of what the old policy earned."""
_BASIS_POINTS = 1e4


@dataclass(frozen=True)
class MeanFactor:
    """How much larger than fitted preferences the means of actions are."""

    factor: float
    bars: int
    """Of training, on which it was chosen."""
    discrete_bp: float
    """Mean net return per bar and agent of the old policy there, in basis points."""
    continuous_bp: dict[float, float]
    """The same of the new one, by factors that were tried."""


@dataclass(frozen=True)
class MigrationCost:
    """What is lost on bars that nothing was learned from, before the new policy learns."""

    part: str
    """Which bars."""
    bars: int
    discrete_bp: Interval
    """Mean net return per bar and agent of the old policy, in basis points."""
    continuous_bp: Interval
    """The same of the new one."""
    difference_bp: Interval
    """New less old at the same bars: where the old one earned nothing, this is what there is."""
    degradation_frac: float | None
    """Share of the old return that is lost, below 0 where the new one earns more; None where the
    old one earned nothing."""
    goal_frac: float = GOAL_FRAC


def choose_factor(discrete: Returns, play: Callable[[float], Returns]) -> MeanFactor:
    """Return the smallest factor with which the new policy keeps what the old one earned.

    Where none does, the one with which it earns most. The smallest, because a mean far from 0
    explores little when the agent learns on.

    Args:
        discrete: (S, N) what the old policy earned on training bars.
        play: Returns the same of the new one, with a factor.
    """
    wanted, earned = _mean_bp(discrete), dict[float, float]()
    for factor in FACTORS:
        earned[factor] = _mean_bp(play(factor))
        if earned[factor] >= wanted:
            break
    best = max(earned, key=earned.__getitem__)
    return MeanFactor(best, len(discrete), wanted, earned)


def measure_cost(part: str, discrete: Returns, continuous: Returns) -> MigrationCost:
    """Compare what two policies earned at the same bars, (S, N) each."""
    before, after = net_bps_interval(discrete), net_bps_interval(continuous)
    lost = 1.0 - after.estimate / before.estimate if before.estimate > 0.0 else None
    difference = net_bps_interval(continuous - discrete)
    return MigrationCost(part, len(discrete), before, after, difference, lost)


def _mean_bp(returns: Returns) -> float:
    return float(returns.mean()) * _BASIS_POINTS
