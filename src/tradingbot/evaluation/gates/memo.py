"""The memo: GO, CONDITIONAL or NO-GO, why, what speaks against it, what would change it.

GO needs every required gate and no alarm that stands unexplained. A gate of the phase `edge` that
fails means NO-GO: there is nothing to deploy; and so does a run in which no agent trades, whatever
gates it is judged by. Between the two the verdict is CONDITIONAL: there is an edge, but something
required failed or was not measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.gate import COMPARISONS, EDGE_PHASE, FALLBACK_PHASE, Gate
from tradingbot.evaluation.gates.idleness import no_agent_trades, passes_idly
from tradingbot.evaluation.gates.judging import judge_gates
from tradingbot.evaluation.gates.measurements import MEASUREMENTS
from tradingbot.evaluation.gates.plausibility import raise_alarm
from tradingbot.evaluation.gates.result import Alarm, GateResult, Memo, Verdict

_LISTED = 5
_INDICES = ("SPY",)
_IDLE_REASON = ("No agent trades: there is nothing to deploy, whatever gates pass.",)
_IDLE_EVIDENCE = ("No agent trades, so no figure of the agents speaks for them.",)
_IDLE_CHANGE = ("Agents that trade: before, no other figure counts.",)


def write_memo(
    dossier: Dossier,
    gates: Sequence[Gate],
    benches: Mapping[str, float] | None = None,
    *,
    source: str = "",
) -> Memo:
    """Judge a dossier by gates.

    Args:
        dossier: Of the run.
        gates: What is asked.
        benches: Name of a benchmark's record → its value; none by default.
        source: File of gates that are not the product's own; the headline says so.

    Raises:
        ConfigError: If the gates cannot be judged.
    """
    results, alarm = judge_gates(dossier, gates, benches or {}), raise_alarm(dossier)
    is_idle = no_agent_trades(dossier)
    verdict = decide(results, alarm, is_idle=is_idle)
    against = _idle_evidence(results) if is_idle else _counter_evidence(verdict, results)
    headline = _headline(dossier, verdict, results, alarm)
    if source:
        headline += f" Judged by {source}, not by the product's own gates."
    return Memo(
        verdict=verdict,
        headline=headline,
        reasons=(*_IDLE_REASON * is_idle, *_reasons(verdict, results, alarm)),
        counter_evidence=against,
        would_change=(*_IDLE_CHANGE * is_idle, *_would_change(verdict, results, alarm)),
        alarm=alarm,
        gates=results,
    )


def decide(results: Sequence[GateResult], alarm: Alarm | None, *, is_idle: bool) -> Verdict:
    """Return the verdict that follows from judged gates, the alarm, and whether no agent trades."""
    if is_idle or any(each.phase == EDGE_PHASE and each.outcome == "fail" for each in results):
        return "NO-GO"
    stands = alarm is not None and not alarm.is_explained
    required = [each for each in results if each.is_required]
    if required and all(each.outcome == "pass" for each in required) and not stands:
        return "GO"
    return "CONDITIONAL"


def _headline(
    dossier: Dossier, verdict: Verdict, results: Sequence[GateResult], alarm: Alarm | None
) -> str:
    row, trading = dossier.test.policies[0], [a for a in dossier.test.agents if a.trades]
    earned = (
        f"{row.net_bps_per_bar.estimate:.2f} bp per bar net "
        f"[{row.net_bps_per_bar.low:.2f}, {row.net_bps_per_bar.high:.2f}]"
    )
    if verdict == "GO":
        return f"There is an edge, and every required gate holds: {earned}."
    if verdict == "CONDITIONAL":
        missing = len(_missing(results))
        if alarm is not None and not alarm.is_explained and not missing:
            return f"Too good to be believed yet: {earned}."
        return f"There is an edge ({earned}), but {missing} required gates do not hold yet."
    if not dossier.leak_check.is_clean:
        return "Not to be believed: the leak check found that the future may have been seen."
    reference = dossier.test.policy(dossier.test.reference)
    rising = reference is not None and reference.total_return_frac > 0.0
    index = "the index" if dossier.test.reference in _INDICES else "the symbols in equal weight"
    instead = f"hold {index}" if rising else "stay in cash"
    if not trading:
        return f"No edge: {instead}. Validation kept every agent out of the market."
    if no_agent_trades(dossier):
        return f"No edge: {instead}. No agent traded."
    return f"No edge: {instead}. The agents earned {earned}."


def _reasons(
    verdict: Verdict, results: Sequence[GateResult], alarm: Alarm | None
) -> tuple[str, ...]:
    if verdict == "GO":
        chosen = [each for each in results if each.is_required and each.outcome == "pass"]
    elif verdict == "NO-GO":
        chosen = [each for each in results if each.phase == EDGE_PHASE and each.outcome == "fail"]
    else:
        chosen = _missing(results)
    said = [describe(each) for each in chosen]
    if alarm is not None:
        said.insert(0, f"Plausibility alarm: {alarm.words}. {alarm.explanation}")
    return tuple(said)


def _counter_evidence(verdict: Verdict, results: Sequence[GateResult]) -> tuple[str, ...]:
    """Say what speaks against the verdict: what failed against GO, what held against the others."""
    if verdict == "GO":
        asked = [each for each in results if each.phase != FALLBACK_PHASE]
        against = [each for each in asked if each.outcome == "fail"]
        against += [each for each in asked if each.outcome == "pass" and not _is_sure(each)]
        unknown = [each for each in asked if each.outcome == "not measured"]
        # What a dossier could have measured: not a benchmark, not a part to come.
        against += [each for each in unknown if each.metric in MEASUREMENTS]
    else:
        against = _held(results)
    return tuple(describe(each) for each in against[:_LISTED])


def _idle_evidence(results: Sequence[GateResult]) -> tuple[str, ...]:
    """Leave out what cash reaches; windows and seeds that trade speak for the agents still."""
    against = [each for each in _held(results) if not passes_idly(each)]
    return (*_IDLE_EVIDENCE, *(describe(each) for each in against[:_LISTED]))


def _held(results: Sequence[GateResult]) -> list[GateResult]:
    asked = [each for each in results if each.is_required or each.phase == EDGE_PHASE]
    return [each for each in asked if each.outcome == "pass"]


def _is_sure(result: GateResult) -> bool:
    """Tell whether both ends of the interval reach the target, where there is an interval."""
    if result.interval is None:
        return True
    comparison, number = result.target.split()[:2]
    return all(COMPARISONS[comparison](end, float(number)) for end in result.interval[1:])


def _would_change(
    verdict: Verdict, results: Sequence[GateResult], alarm: Alarm | None
) -> tuple[str, ...]:
    if verdict == "GO":
        ends = [each for each in results if each.phase == EDGE_PHASE and each.is_required]
        return tuple(
            f"New data on which this fails: {each.words} ({_now(each)}, needed {each.wanted})."
            for each in ends[:_LISTED]
        )
    steps = [
        f"{each.words}: {_now(each)}, needed {each.wanted}." for each in _missing(results)[:_LISTED]
    ]
    if alarm is not None and not alarm.is_explained:
        steps.append("An explanation of the alarm that a sceptic accepts, then new data.")
    return tuple(steps)


def _missing(results: Sequence[GateResult]) -> list[GateResult]:
    asked = [each for each in results if each.is_required or each.phase == EDGE_PHASE]
    return [each for each in asked if each.outcome != "pass"]


def describe(result: GateResult) -> str:
    """Say a judged gate in one line."""
    failed = "FAIL: " if result.outcome == "fail" else ""
    return f"{failed}{result.words}: {_now(result)}, wanted {result.wanted}."


def _now(result: GateResult) -> str:
    if result.outcome == "not measured":
        return f"not measured ({result.reason})"
    return result.found
