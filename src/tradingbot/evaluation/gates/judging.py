"""From a dossier to one line per gate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.gate import Gate
from tradingbot.evaluation.gates.measurement import (
    Finding,
    MeasuredValue,
    Measurement,
    as_measured,
)
from tradingbot.evaluation.gates.measurements import BENCH_PREFIX, measurement_of
from tradingbot.evaluation.gates.result import GateResult, Outcome


def judge_gates(
    dossier: Dossier, gates: Sequence[Gate], benches: Mapping[str, float]
) -> tuple[GateResult, ...]:
    """Judge every gate from what was measured; what was not measured never passes.

    Args:
        dossier: Of the run.
        gates: What is asked.
        benches: Name of a benchmark's record → its value, for gates that ask for one.

    Raises:
        ConfigError: If there is no gate, or two have one name.
    """
    names = [gate.name for gate in gates]
    if not names or len(set(names)) < len(names):
        was = "none" if not names else next(name for name in names if names.count(name) > 1)
        raise ConfigError("gates must be there, each with a name of its own", was=was)
    measured = [measurement_of(gate.metric, benches) for gate in gates]
    return tuple(
        _judge(gate, each, each.read(dossier)) for gate, each in zip(gates, measured, strict=True)
    )


def judge_figures(
    figures: Mapping[str, Finding], gates: Sequence[Gate], benches: Mapping[str, float]
) -> tuple[GateResult, ...]:
    """Judge gates before there is a dossier, from figures that were measured some other way.

    Args:
        figures: Metric → figure, or in words why there is none.
        gates: What is asked.
        benches: As for `judge_gates`.
    """
    return tuple(_judge(gate, *_figure_of(gate.metric, figures, benches)) for gate in gates)


def _figure_of(
    metric: str, figures: Mapping[str, Finding], benches: Mapping[str, float]
) -> tuple[Measurement, MeasuredValue]:
    measurement = measurement_of(metric, benches)
    if metric.startswith(BENCH_PREFIX):
        name = metric.removeprefix(BENCH_PREFIX)
        absent = f"no benchmark of this name was given: {name}"
        return measurement, as_measured(benches.get(name, absent))
    absent = "it is measured when agents have been trained and evaluated"
    return measurement, as_measured(figures.get(metric, absent))


def _judge(gate: Gate, measurement: Measurement, found: MeasuredValue) -> GateResult:
    outcome, reason = _outcome(gate, found)
    end = {"low": " at the low end", "high": " at the high end"}.get(gate.judged_by, "")
    return GateResult(
        gate=gate.name,
        phase=gate.phase,
        words=gate.words,
        is_required=gate.required,
        metric=gate.metric,
        unit=measurement.unit,
        target=f"{gate.comparison} {gate.target:.10g}{end}",
        measured=found.value,
        interval=found.interval,
        evidence=measurement.evidence,
        outcome=outcome,
        reason=reason,
    )


def _outcome(gate: Gate, found: MeasuredValue) -> tuple[Outcome, str]:
    if found.value is None:
        return "not measured", found.reason
    value = found.value
    if gate.judged_by != "estimate":
        if found.interval is None:
            return "not measured", f"there is no interval to take the {gate.judged_by} end of"
        value = found.interval.low if gate.judged_by == "low" else found.interval.high
    if math.isnan(value):
        return "not measured", "undefined for this result"
    return ("pass" if gate.holds(value) else "fail"), ""
