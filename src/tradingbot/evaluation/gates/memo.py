"""The memo: GO, CONDITIONAL or NO-GO, why, the weaknesses of the strategy, what would change it.

GO needs every required gate and no alarm that stands unexplained. A gate of the phase `edge` that
fails means NO-GO: there is nothing to deploy; and so does a run in which no agent trades, whatever
gates it is judged by. Between the two the verdict is CONDITIONAL: there is an edge, but something
required failed or was not measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.cost_reserve import reserve_basis_bps
from tradingbot.evaluation.gates.gate import COMPARISONS, EDGE_PHASE, FALLBACK_PHASE, Gate
from tradingbot.evaluation.gates.idleness import depends_on_trading, no_agent_trades
from tradingbot.evaluation.gates.judging import judge_gates
from tradingbot.evaluation.gates.master_edge import tell_whose_edge
from tradingbot.evaluation.gates.pending import PENDING
from tradingbot.evaluation.gates.plausibility import raise_alarm
from tradingbot.evaluation.gates.result import Alarm, GateResult, Memo, Verdict
from tradingbot.evaluation.performance.matched_exposure import share_at_exposure_of
from tradingbot.evaluation.performance.record import PolicyPerformance

_LISTED = 5
_NOT_OF_STRATEGY = frozenset(["origin", "benchmarks", ""])
"""Evidence of gates that ask about data, size, software or speed, not about what is traded."""
_NEEDED_PHASES = frozenset([EDGE_PHASE, "validation", "final"])
"""Phases in which a figure that was not measured is a weakness."""
_INDICES = ("SPY",)
_COSTS_DECIDE = 2.0
"""Break-even ÷ assumed cost up to which costs are a reason of the verdict."""
_SPA = "spa_p"
"""Metric of the test against the best baseline."""
_IDLE_REASON = ("No agent trades: there is nothing to deploy, whatever gates pass.",)
_IDLE_EVIDENCE = ("No agent trades, so no figure of the agents speaks for them.",)
_IDLE_CHANGE = ("Agents that trade: before, no other figure counts.",)


def write_memo(
    dossier: Dossier,
    gates: Sequence[Gate],
    benches: Mapping[str, float] | None = None,
    *,
    source: str = "",
    power: str = "",
) -> Memo:
    """Judge a dossier by gates.

    Gates that ask for what is not built yet are left out, unless they are required: those make GO
    impossible.

    Args:
        dossier: Of the run.
        gates: What is asked.
        benches: Name of a benchmark's record → its value; none by default.
        source: File of gates that are not the product's own; the headline says so.
        power: How strong an edge would have been found (`tradingbot power`), where it is known: a
            reason of a NO-GO.

    Raises:
        ConfigError: If the gates cannot be judged.
    """
    asked = [gate for gate in gates if gate.required or gate.metric not in PENDING]
    results, alarm = judge_gates(dossier, asked, benches or {}), raise_alarm(dossier)
    is_idle = no_agent_trades(dossier)
    verdict = decide(results, alarm, is_idle=is_idle)
    headline = _headline(dossier, verdict, results, alarm)
    if source:
        headline += f" Judged by {source}, not by the product's own gates."
    return Memo(
        verdict=verdict,
        headline=headline,
        reasons=(
            *_IDLE_REASON * is_idle,
            *_reasons(dossier, verdict, results, alarm),
            *([] if is_idle else _break_even(dossier)),
            *([power] if power and verdict == "NO-GO" else []),
        ),
        counter_evidence=_weaknesses(verdict, results, is_idle=is_idle),
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
    earned, whose = _earned(row), tell_whose_edge(dossier)
    whose = whose and f" {whose}"
    if verdict == "GO":
        return f"There is an edge, and every required gate holds: {earned}.{whose}"
    if verdict == "CONDITIONAL":
        missing = len(_missing(results))
        if alarm is not None and not alarm.is_explained and not missing:
            return f"Too good to be believed yet: {earned}."
        return f"There is an edge ({earned}), but {missing} required gates do not hold yet.{whose}"
    if not dossier.leak_check.is_clean:
        return "Not to be believed: the leak check found that the future may have been seen."
    failed = _deciding(verdict, results)
    if trading and not no_agent_trades(dossier) and {each.metric for each in failed} == {_SPA}:
        found = f"SPA p-value {_now(failed[0])}, needed {failed[0].wanted}"
        lead = f"No edge over the best baseline{_best_baseline(dossier)}"
        return f"{lead}: {found}. The agents earned {earned}."
    reference = dossier.test.policy(dossier.test.reference)
    rising = reference is not None and reference.total_return_frac > 0.0
    index = "the index" if dossier.test.reference in _INDICES else "the symbols in equal weight"
    instead = f"hold {index}" if rising else "stay in cash"
    if not trading:
        return f"No edge: {instead}. Validation kept every agent out of the market."
    if no_agent_trades(dossier):
        return f"No edge: {instead}. No agent traded."
    return f"No edge: {instead}. The agents earned {earned}. {_name_failed(dossier, failed)}"


def _earned(row: PolicyPerformance) -> str:
    """Say what was earned, alpha first where it was measured: it judges."""
    net, alpha = row.net_bps_per_bar, None if row.earned is None else row.earned.alpha_bps
    if alpha is None:
        return f"{net.estimate:.2f} bp per bar net [{net.low:.2f}, {net.high:.2f}]"
    said = f"{alpha.estimate:.2f} bp per bar of alpha [{alpha.low:.2f}, {alpha.high:.2f}]"
    return f"{said}; with the market {net.estimate:.2f} bp per bar net"


def _name_failed(dossier: Dossier, failed: Sequence[GateResult]) -> str:
    """Name the tests of an edge that failed: one with its figure, several by their names."""
    if len(failed) == 1:
        return describe(failed[0])
    names = ", ".join(each.gate.partition("/")[2] for each in failed)
    best = _best_baseline(dossier) if _SPA in {each.metric for each in failed} else ""
    return f"Failed tests of an edge: {names}.{best and f' Best baseline:{best}.'}"


def _best_baseline(dossier: Dossier) -> str:
    """Name the baseline of the SPA test that earned most, with what it earned: ` X (1.2 bp …)`."""
    names = dossier.statistics.spa_against
    rows = [row for row in dossier.test.policies if row.policy in names]
    if not rows:
        return ""
    if any(row.earned is None for row in rows):
        best = max(rows, key=lambda row: row.net_bps_per_bar.estimate)
        return f" {best.policy} ({best.net_bps_per_bar.estimate:.2f} bp per bar net)"
    shares = {row.policy: share_at_exposure_of(dossier.test.policies[0], row) for row in rows}
    alpha = {
        row.policy: shares[row.policy] * row.earned.alpha_bps.estimate
        for row in rows
        if row.earned is not None
    }
    name = max(alpha, key=lambda policy: alpha[policy])
    size = " at the agents' exposure" if shares[name] < 1.0 else ""
    return f" {name} ({alpha[name]:.2f} bp per bar of alpha{size})"


def _reasons(
    dossier: Dossier, verdict: Verdict, results: Sequence[GateResult], alarm: Alarm | None
) -> tuple[str, ...]:
    said = [_reason(dossier, each) for each in _deciding(verdict, results)]
    if verdict == "GO":
        required = sum(each.is_required for each in results)
        said.append(f"All {required} required gates hold.")
    if alarm is not None and not alarm.is_explained:
        said.insert(0, f"Plausibility alarm: {alarm.words}.")
    return tuple(said)


def _break_even(dossier: Dossier) -> tuple[str, ...]:
    """Say at which cost of each fill nothing is left, where costs decide or none were charged."""
    found = dossier.sensitivity
    if found is None or not found.break_even_cost_bps:
        return ()
    cost, what = found.break_even_cost_bps[0], found.judged.capitalize()
    assumed = f"the run assumes {found.assumed_cost_bps:.2f} bp"
    if not found.assumed_cost_bps:
        assumed = f"the run assumes none, the default is {reserve_basis_bps(found):.2f} bp"
    if cost is None:
        return (f"{what} is below 0 even at no cost; {assumed}.",)
    if cost > _COSTS_DECIDE * found.assumed_cost_bps > 0.0 or math.isinf(cost):
        return ()
    return (f"{what} ends at a cost of {cost:.2f} bp a fill; {assumed}.",)


def _reason(dossier: Dossier, result: GateResult) -> str:
    """Say a judged gate; that of the SPA test with the name of the best baseline."""
    best = _best_baseline(dossier) if result.metric == _SPA else ""
    return describe(replace(result, words=f"{result.words}{best and ','}{best}"))


def _deciding(verdict: Verdict, results: Sequence[GateResult]) -> list[GateResult]:
    """Return the gates that a verdict rests on: an edge, none, or what is missing beside one."""
    if verdict == "CONDITIONAL":
        return _missing(results)
    outcome = "pass" if verdict == "GO" else "fail"
    edge = [each for each in results if each.phase == EDGE_PHASE and each.outcome == outcome]
    return [each for each in edge if each.is_required or verdict == "NO-GO"]


_NOT_ASKED = " Not required by these gates: it changes no verdict."
"""Of what fails beside a GO, for which every required gate holds."""


def _weaknesses(
    verdict: Verdict, results: Sequence[GateResult], *, is_idle: bool
) -> tuple[str, ...]:
    """Say what speaks against the strategy beside the reasons, one line for each metric.

    First what failed, then what holds at one end of its interval only, then what was not measured
    though a verdict needs it. Figures of cash are left out where no agent trades.
    """
    said = set() if verdict == "GO" else {each.metric for each in _deciding(verdict, results)}
    asked = [
        each
        for each in results
        if each.evidence not in _NOT_OF_STRATEGY
        and each.phase != FALLBACK_PHASE
        and each.metric not in said
        and not (is_idle and depends_on_trading(each))
    ]
    asked.sort(key=lambda each: not each.is_required)
    found = [each for each in asked if each.outcome == "fail"]
    found += [each for each in asked if each.outcome == "pass" and not _is_sure(each)]
    unknown = [each for each in asked if each.outcome == "not measured"]
    found += [each for each in unknown if each.phase in _NEEDED_PHASES]
    first = {each.metric: each for each in reversed(found)}
    lines = [
        describe(each) + _NOT_ASKED * (verdict == "GO" and each.outcome == "fail")
        for each in found
        if first[each.metric] is each
    ]
    return (*_IDLE_EVIDENCE * is_idle, *lines[:_LISTED])


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
