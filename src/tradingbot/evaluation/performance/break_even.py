"""The cost at which an edge ends: alpha of a policy that does not look at costs falls by turnover.

Net of a cost of c for each fill a policy keeps alpha − c · turnover per bar. So alpha measured at
one cost says what is left at any other, and where nothing is, interval included; what fills cost
beyond a rate (impact, borrowing, a minimum fee) stays as it was measured.
"""

from __future__ import annotations

from tradingbot.evaluation.performance.record import PolicyPerformance
from tradingbot.evaluation.performance.table import write_interval
from tradingbot.evaluation.statistics.interval import Interval

_LEAST_TURNOVER_FRAC = 0.001
"""Traded per bar, of equity, below which costs decide nothing: no cost is named."""


def cost_of_no_alpha(row: PolicyPerformance, one_way_bps: float) -> Interval | None:
    """Return the cost of each fill, basis points, at which the alpha of a policy is 0.

    Args:
        row: Of a policy whose return was taken apart.
        one_way_bps: What a fill cost when it was measured.

    Returns:
        Below 0 where fills would have to be paid for; None where next to nothing is traded (less
        than 0.1 % of equity per bar), or alpha is not known.
    """
    turnover, alpha = row.turnover_per_bar_frac, row.alpha_bps
    if alpha is None or turnover < _LEAST_TURNOVER_FRAC:
        return None
    return Interval(*(one_way_bps + end / turnover for end in alpha))


def break_even_words(row: PolicyPerformance, one_way_bps: float) -> str:
    """Say whether alpha lies above 0 with its whole interval, and at which cost none is left.

    Returns:
        Empty where `cost_of_no_alpha` is None.
    """
    cost, alpha = cost_of_no_alpha(row, one_way_bps), row.alpha_bps
    if cost is None or alpha is None:
        return ""
    found = "an edge" if alpha.low > 0.0 else "no edge"
    earned = f"{found} at {one_way_bps:.2f} bp a fill (alpha {write_interval(alpha)} bp per bar)"
    if cost.estimate <= 0.0:
        return f"{row.policy}: {earned}; it has none at any cost."
    return f"{row.policy}: {earned}; alpha ends at {write_interval(cost)} bp a fill."
