from __future__ import annotations

from typing import Any

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.gates.gate import Gate

PLAIN: dict[str, Any] = {
    "name": "final/sharpe",
    "words": "Sharpe ratio",
    "metric": "sharpe_annual",
    "comparison": ">",
    "target": 1.0,
}


@pytest.mark.parametrize(
    ("comparison", "below", "at", "above"),
    [
        (">", False, False, True),
        (">=", False, True, True),
        ("<", True, False, False),
        ("<=", True, True, False),
    ],
)
def test_gate_compares_below_at_and_above_its_target(
    comparison: str, below: bool, at: bool, above: bool
) -> None:
    gate = Gate(**{**PLAIN, "comparison": comparison})
    assert [gate.holds(value) for value in (0.9, 1.0, 1.1)] == [below, at, above]
    assert not gate.holds(float("nan"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"metric": "sharp_annual"}, "did you mean|sharpe_annual"),
        ({"comparison": "="}, ">="),
        ({"judged_by": "middle"}, "estimate, low or high"),
        ({"target": float("nan")}, "finite"),
        ({"target": "1"}, "type float"),
        ({"required": "no"}, "type bool"),
        ({"name": "sharpe"}, "phase/what"),
    ],
)
def test_gate_that_cannot_be_judged_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=f"(?i){words}"):
        Gate(**{**PLAIN, **change})
