from __future__ import annotations

import pytest

from fixtures.example_dossier import example_dossier
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.gates.gate import Gate
from tradingbot.evaluation.gates.gates_file import load_gates
from tradingbot.evaluation.gates.judging import judge_gates
from tradingbot.evaluation.gates.measurements import MEASUREMENTS
from tradingbot.evaluation.gates.pending import PENDING, what_would_measure


@pytest.mark.parametrize("metric", PENDING)
def test_metric_that_nothing_measures_yet_never_passes_and_says_what_would(metric: str) -> None:
    gates = [Gate("x/below", "w", metric, "<=", 1e12), Gate("x/above", "w", metric, ">=", -1e12)]
    # Not even by a benchmark's record of that name.
    for result in judge_gates(example_dossier(), gates, {metric: 0.0}):
        assert (result.outcome, result.measured) == ("not measured", None)
        assert result.reason == what_would_measure(metric)
        assert len(result.reason.split()) > 5


def test_pending_metrics_are_those_that_the_products_gates_ask_for() -> None:
    assert not set(PENDING) & set(MEASUREMENTS)
    assert set(PENDING) <= {gate.metric for gate in load_gates()}


def test_metric_that_is_neither_measured_nor_pending_is_refused() -> None:
    with pytest.raises(ConfigError, match="master_sharpe_annual"):
        Gate("x/y", "w", "master_sharp_annual", ">", 0.0)
