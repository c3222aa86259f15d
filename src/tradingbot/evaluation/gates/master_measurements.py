"""What gates can ask of a master and of the sleeves that it divides capital among."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tradingbot.evaluation.dossier.allocation import Allocation
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.measurement import Finding, Measurement

NO_MASTER = "agents have an account each: it takes a run with environment.kind: portfolio"


def _of_master(find: Callable[[Dossier, Allocation], Finding]) -> Callable[[Dossier], Finding]:
    def of_dossier(dossier: Dossier) -> Finding:
        return NO_MASTER if dossier.allocation is None else find(dossier, dossier.allocation)

    return of_dossier


def _over_fixed(_: Dossier, found: Allocation) -> Finding:
    missing = "evaluated before the master was compared bar by bar; evaluate again"
    return missing if found.over_fixed_bps is None else found.over_fixed_bps


MASTER_MEASUREMENTS: Mapping[str, Measurement] = {
    "master_over_fixed_frac": Measurement(
        "per year", "allocation", _of_master(lambda _, found: found.over_fixed_annual_frac)
    ),
    "master_over_fixed_bps": Measurement("bp per bar", "allocation", _of_master(_over_fixed)),
    "master_sharpe_annual": Measurement(
        "per year", "performance", _of_master(lambda d, _: d.test.policies[0].sharpe_annual)
    ),
    "master_drawdown_frac": Measurement(
        "fraction", "performance", _of_master(lambda d, _: d.test.policies[0].max_drawdown_frac)
    ),
    "master_most_cash_frac": Measurement(
        "fraction", "allocation", _of_master(lambda _, found: found.most_cash_frac)
    ),
    "master_least_cash_frac": Measurement(
        "fraction", "allocation", _of_master(lambda _, found: found.least_cash_frac)
    ),
}
"""Name → where it comes from."""
