"""Metrics that the plan asks for and nothing measures yet: known by name, never passed.

One that gets a measurement moves to `measurements.MEASUREMENTS` under its name, and the gates that
ask for it need no change.
"""

from __future__ import annotations

from collections.abc import Mapping

from tradingbot.evaluation.gates.measurement import Measurement

_NO_OPTIONS = "agents have no options yet; their shares of use in a run would measure it"
_NO_MASTER = "there is no master agent yet; a dossier of one would measure it"
_PENDING = {
    "smallest_option_frac": ("fraction", _NO_OPTIONS),
    "largest_option_frac": ("fraction", _NO_OPTIONS),
    "hindsight_gain_frac": (
        "fraction",
        "no learner has hindsight replay yet; success rates with and without it would measure it",
    ),
    "evolution_share_of_sac": (
        "fraction",
        "there are no evolution strategies yet; a benchmark beside SAC would measure it",
    ),
    "curriculum_stages_passed": (
        "stages",
        "training does not go through the stages of the curriculum environment yet",
    ),
    "answer_p95_ms": ("ms", "nothing is served yet; a benchmark of the service would measure it"),
    "onnx_largest_difference": (
        "of an action",
        "there is no export to ONNX yet; the same bars through both would measure it",
    ),
    "breakers_untested": (
        "breakers",
        "there is no live trading with breakers yet; a drill of each would measure it",
    ),
    "dashboard_delay_s": ("s", "there is no dashboard yet; a benchmark of it would measure it"),
    "critical_coverage_frac": (
        "fraction",
        "make coverage prints it; no record of it reaches the gates yet",
    ),
    "master_over_fixed_frac": ("per year", _NO_MASTER),
    "master_sharpe_annual": ("per year", _NO_MASTER),
    "master_drawdown_frac": ("fraction", _NO_MASTER),
    "master_least_cash_frac": ("fraction", _NO_MASTER),
    "master_most_cash_frac": ("fraction", _NO_MASTER),
}


def _pending(unit: str, words: str) -> Measurement:
    return Measurement(unit, "", lambda _: words)


PENDING: Mapping[str, Measurement] = {name: _pending(*each) for name, each in _PENDING.items()}
"""Name → a measurement that says what would measure it."""


def what_would_measure(metric: str) -> str:
    """Say what a pending metric waits for."""
    return _PENDING[metric][1]
