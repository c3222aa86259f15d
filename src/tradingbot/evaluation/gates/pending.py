"""Metrics that the plan asks for and nothing measures yet: known by name, never passed.

One that gets a measurement moves to `measurements.MEASUREMENTS` under its name, and the gates that
ask for it need no change.
"""

from __future__ import annotations

from collections.abc import Mapping

from tradingbot.evaluation.gates.measurement import Measurement

_NO_DRILL = (
    "make controls notes when the test of each control passed; no record reaches the gates yet"
)
_NO_RECORD = "make coverage prints it; no record of it reaches the gates yet"
_PENDING = {
    "breakers_untested": ("breakers", _NO_DRILL),
    "critical_coverage_frac": ("fraction", _NO_RECORD),
}


def _pending(unit: str, words: str) -> Measurement:
    return Measurement(unit, "", lambda _: words)


PENDING: Mapping[str, Measurement] = {name: _pending(*each) for name, each in _PENDING.items()}
"""Name → a measurement that says what would measure it."""


def what_would_measure(metric: str) -> str:
    """Say what a pending metric waits for."""
    return _PENDING[metric][1]
