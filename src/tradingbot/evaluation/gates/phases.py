"""Gates of the plan's phases, each judged on runs that have the phase's part: one table of several.

No single run has options, objectives, evolution and a curriculum. Which run stands for a phase is
said beforehand: none is picked because it passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.evaluation.dossier.dossier import Dossier, Header
from tradingbot.evaluation.gates.gate import Gate
from tradingbot.evaluation.gates.idleness import depends_on_trading, no_agent_trades
from tradingbot.evaluation.gates.judging import judge_gates
from tradingbot.evaluation.gates.measurements import BENCH_PREFIX
from tradingbot.evaluation.gates.result import GateResult

_IDLE = "no agent trades: the figures are those of cash"


@dataclass(frozen=True)
class PhaseResult:
    """One gate, judged on one run of its phase."""

    result: GateResult
    run: Header | None
    """What was evaluated; None where a benchmark measured."""


def require_phase(asked: str, gates: Sequence[Gate]) -> str:
    """Return the phase that a name or its first word means: `A` is `A continuous`.

    Raises:
        ConfigError: If no gate has such a phase.
    """
    names = list(dict.fromkeys(gate.phase for gate in gates))
    for name in names:
        if asked in (name, name.split()[0]):
            return name
    known = [name.split()[0] for name in names]
    raise ConfigError("a phase must be one of the gates", was=asked, remedy=suggest(asked, known))


def judge_phases(
    runs: Mapping[str, Sequence[Dossier]], gates: Sequence[Gate], benches: Mapping[str, float]
) -> tuple[PhaseResult, ...]:
    """Judge every gate of some phases on every run of its phase.

    A run without what a gate asks for says nothing where another run of the phase has it; where
    none has, the gate is not measured.

    Args:
        runs: Phase → dossiers of its runs.
        gates: What is asked; those of other phases are left out.
        benches: As for `judge_gates`.
    """
    return tuple(
        line
        for gate in gates
        if gate.phase in runs
        for line in _lines(gate, runs[gate.phase], benches)
    )


def _lines(
    gate: Gate, dossiers: Sequence[Dossier], benches: Mapping[str, float]
) -> list[PhaseResult]:
    judged = [PhaseResult(_judge(gate, each, benches), each.header) for each in dossiers]
    if gate.metric.startswith(BENCH_PREFIX):
        return [PhaseResult(judged[0].result, None)]
    measured = [each for each in judged if each.result.outcome != "not measured"]
    return measured or judged[:1]


def _judge(gate: Gate, dossier: Dossier, benches: Mapping[str, float]) -> GateResult:
    result = judge_gates(dossier, [gate], benches)[0]
    if result.outcome != "not measured" and depends_on_trading(result) and no_agent_trades(dossier):
        return replace(result, reason=_IDLE)
    return result
