"""Whose edge a portfolio's is: that of its sleeves in fixed weights, and what the master adds."""

from __future__ import annotations

from tradingbot.evaluation.dossier.allocation import Allocation
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.statistics.interval import Interval


def tell_whose_edge(dossier: Dossier) -> str:
    """Say what of an edge is the sleeves' and what the master adds; empty where nothing is known.

    Both are alpha per bar on the same bars, so that the second is a paired difference.
    """
    found = dossier.allocation
    if found is None or found.over_fixed_bps is None or found.fixed_alpha_bps is None:
        return ""
    adds, alone = found.over_fixed_bps, found.fixed_alpha_bps
    whose = {
        (True, False): f"The edge is {_owner(found)}",
        (True, True): f"The edge is {_owner(found)} and the master's",
        (False, True): "The edge is the master's",
    }.get((alone.low > 0.0, adds.low > 0.0))
    if whose is None:
        return ""
    return (
        f"{whose}: {found.fixed} of the same sleeves earns {_bps(alone)} bp per bar of alpha, the "
        f"master adds {_bps(adds)}."
    )


def _owner(found: Allocation) -> str:
    return "the agents'" if found.traded_by.startswith("the agents") else "the sleeves'"


def _bps(found: Interval) -> str:
    return f"{found.estimate:.2f} [{found.low:.2f}, {found.high:.2f}]"
