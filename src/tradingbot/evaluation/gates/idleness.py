"""Runs in which no agent trades: their figures are those of cash, and no merit of the agents."""

from __future__ import annotations

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.result import GateResult

_OF_TRADING = {
    *("performance", "league", "regimes", "stress", "sensitivity", "allocation"),
    *("policy", "health", "statistics", "placebos", "leak-check"),
}
"""Sections whose figures are those of cash where no agent trades."""
_WHOEVER_TRADES = frozenset(["causality_certificate"])
"""Metrics with evidence there that do not depend on trading."""


def no_agent_trades(dossier: Dossier) -> bool:
    """Tell whether the agents stay out of the test part: its figures are those of cash."""
    agents, whole = dossier.test.agents, dossier.test.policies[0]
    kept_out = bool(agents) and not any(row.trades for row in agents)
    return kept_out or (whole.n_trades == 0 and whole.turnover_per_bar_frac == 0)


def depends_on_trading(gate: GateResult) -> bool:
    """Tell whether a gate reads a figure that is that of cash where no agent trades."""
    return gate.evidence in _OF_TRADING and gate.metric not in _WHOEVER_TRADES


def passes_idly(gate: GateResult) -> bool:
    """Tell whether a gate passes for no other reason than that no agent trades."""
    return gate.outcome == "pass" and depends_on_trading(gate)
