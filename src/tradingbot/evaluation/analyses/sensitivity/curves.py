"""Where a curve of net returns ends: the cost that eats it, the capital that halves it."""

from __future__ import annotations

import math
from collections.abc import Sequence


def break_even_bps(cost_bps: Sequence[float], net_bps: Sequence[float]) -> float | None:
    """Return the one-way cost at which nothing is left, by straight lines between points.

    A policy that does not look at costs loses in proportion to them, so the line is nearly exact.

    Args:
        cost_bps: C rising costs.
        net_bps: (C,) mean net return per bar at each.

    Returns:
        None where nothing is left even at the first cost; infinite where the last still leaves
        something.
    """
    if net_bps[0] <= 0.0:
        return None
    for place in range(1, len(cost_bps)):
        before, after = net_bps[place - 1], net_bps[place]
        if after <= 0.0:
            share = before / (before - after)
            return cost_bps[place - 1] + share * (cost_bps[place] - cost_bps[place - 1])
    return math.inf


def capacity_ccy(
    capital_ccy: Sequence[float], net_bps: Sequence[float], without_impact_bps: float
) -> float | None:
    """Return the capital at which impact takes half of the net return.

    Between two capitals the return falls with the root of capital, as impact does.

    Args:
        capital_ccy: Rising capitals.
        net_bps: Mean net return per bar at each, with impact.
        without_impact_bps: The same without any.

    Returns:
        None where it earns nothing, or the largest capital leaves more than half.
    """
    half = 0.5 * without_impact_bps
    if without_impact_bps <= 0.0:
        return None
    root_before, net_before = 0.0, without_impact_bps
    for capital, net in zip(capital_ccy, net_bps, strict=True):
        root = math.sqrt(capital)
        if net <= half:
            share = (net_before - half) / (net_before - net)
            return (root_before + share * (root - root_before)) ** 2
        root_before, net_before = root, net
    return None
