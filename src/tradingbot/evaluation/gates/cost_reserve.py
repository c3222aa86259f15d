"""How far costs may rise before nothing is left: break-even beside what a fill costs."""

from __future__ import annotations

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.dossier.robustness import Sensitivity
from tradingbot.evaluation.gates.measurement import Finding, left_out
from tradingbot.evaluation.oracle.action_rule import DEFAULT_COST_FRAC

_BASIS_POINTS = 1e4


def measure_cost_reserve(dossier: Dossier) -> Finding:
    """Return the break-even cost of a fill, in multiples of what a fill costs."""
    found = dossier.sensitivity
    if found is None:
        return left_out(dossier, "sensitivity")
    break_even = found.break_even_cost_bps[0]
    return 0.0 if break_even is None else break_even / reserve_basis_bps(found)


def reserve_basis_bps(found: Sensitivity) -> float:
    """Return the cost of a fill that the reserve is measured in: the run's own, basis points.

    A run that assumes none is asked for what trading costs by default: no one trades for nothing.
    """
    return found.assumed_cost_bps or _BASIS_POINTS * DEFAULT_COST_FRAC
