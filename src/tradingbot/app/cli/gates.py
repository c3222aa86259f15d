"""`tradingbot gates RUN`: GO, CONDITIONAL or NO-GO, gate by gate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.cli.options import look_up_run, read_pairs
from tradingbot.app.console import print_json, print_table, print_text, show_json

if TYPE_CHECKING:
    from tradingbot.app.cli.invocation import Invocation
    from tradingbot.evaluation.gates.phases import PhaseResult
    from tradingbot.evaluation.gates.result import GateResult, Memo

app = typer.Typer()


@app.command("gates")
def judge_gates(  # noqa: PLR0913 - one option for each thing to show or judge by
    context: typer.Context,
    reference: Annotated[
        str | None, Argument(metavar="RUN", help="Id of a run, the beginning of it, or its folder.")
    ] = None,
    phases: Annotated[
        list[str] | None,
        Option("--phase", metavar="PHASE=RUN", help="Judge a phase on a run; may be given again."),
    ] = None,
    gates: Annotated[
        str, Option(help="Gates that come with the package, or a YAML file.")
    ] = "product",
    bench: Annotated[
        list[Path] | None,
        Option(metavar="FILE", help="JSON of tradingbot bench; may be given again."),
    ] = None,
    show_all: Annotated[
        bool, Option("--all", help="Show every gate, not only required and failed ones.")
    ] = False,
    show_metrics: Annotated[
        bool, Option("--metrics", help="List what a gate can ask for and exit.")
    ] = False,
    show_file: Annotated[
        bool, Option("--print", help="Print the file of gates, to be edited and exit.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Judge an evaluated run by the gates and write the memo: GO, CONDITIONAL or NO-GO.

    Verdict and reasons come first, then required gates and failed ones. Nothing is measured again.
    Gates are data: print them, edit the copy, judge by it.

    Example: [bold]tradingbot gates 20260105[/bold]

    Example: [bold]tradingbot gates 20260105 --all[/bold]

    With --phase several runs make one table: gates of each phase, judged on the runs that have its
    part.

    Example: [bold]tradingbot gates --phase A=20260105 --phase B=20260106 --bench train.json[/bold]

    Example: [bold]tradingbot gates --print[/bold]

    Example: [bold]tradingbot gates 20260105 --gates mine.yaml[/bold]
    """
    from tradingbot.domain.errors import ConfigError
    from tradingbot.evaluation.gates.gates_file import gates_text, load_gates, read_benches

    load_gates(gates)
    if show_metrics:
        _print_metrics(as_json=as_json)
        return
    if show_file:
        if not show_json(as_json, {"gates": load_gates(gates)}):
            print_text(gates_text(gates).rstrip("\n"))
        return
    if phases:
        if reference is not None or show_all:
            was = "--all" if reference is None else f"RUN {reference}"
            raise ConfigError("phases name their runs, and show every gate", was=was)
        _judge_phases(invocation_of(context), phases, gates, bench or (), as_json=as_json)
        return
    if reference is None:
        raise ConfigError(
            "a run must be given", was="none", remedy="List them with: tradingbot runs list"
        )
    run = look_up_run(invocation_of(context), reference)
    # Torch takes seconds to import: what can be refused without it is refused by now.
    read_benches(bench or ())
    from tradingbot.evaluation.pipeline.stored_dossier import judge_run

    memo = judge_run(run, invocation_of(context).workspace, gates, bench or ())
    if show_json(as_json, memo):
        return
    print_memo(memo, label=run.record.data.label, show_all=show_all)


def _judge_phases(
    invocation: Invocation,
    phases: Sequence[str],
    gates: str,
    bench: Sequence[Path],
    *,
    as_json: bool,
) -> None:
    """Judge several runs by the gates of their phases, and write one table."""
    from tradingbot.evaluation.gates.gates_file import load_gates, read_benches
    from tradingbot.evaluation.gates.phases import require_phase

    asked = load_gates(gates)
    runs = []
    for text in phases:  # one by one: a phase may have several runs
        for phase, reference in read_pairs([text], "--phase", "PHASE=RUN", "A=20260105").items():
            require_phase(phase, asked)
            runs.append((phase, look_up_run(invocation, reference)))
    read_benches(bench)
    from tradingbot.evaluation.pipeline.stored_dossier import judge_phase_runs

    judged = judge_phase_runs(runs, invocation.workspace, gates, bench)
    if not show_json(as_json, judged):
        _print_phases(judged)


def _print_phases(judged: Sequence[PhaseResult]) -> None:
    rows = [
        (
            f"{_MARKS[each.result.outcome]} {each.result.gate}\n{each.result.words}",
            each.result.wanted,
            "\n".join(filter(None, [each.result.found or "not measured", each.result.reason])),
            "benchmark" if each.run is None else each.run.run,
        )
        for each in judged
    ]
    columns = ["gate", "target", "measured [95 %]", "run"]
    caption = "test part, net of costs; what a run has no part of is told by the phase's others"
    print_table("Gates by phase", columns, rows, caption=caption, unbroken=["target", "run"])
    for header in {each.run.run: each.run for each in judged if each.run is not None}.values():
        print_text(
            f"  - {header.run}: {header.learner}, seed {header.seed}, {header.agents} agents, "
            f"{header.steps_per_agent:,} steps each; {header.label}; {header.costs}"
        )


def _print_metrics(*, as_json: bool) -> None:
    from tradingbot.evaluation.gates.measurements import KNOWN
    from tradingbot.evaluation.gates.pending import PENDING, what_would_measure

    pending = {name: what_would_measure(name) for name in PENDING}
    rows = [(name, each.unit, each.evidence, pending.get(name, "")) for name, each in KNOWN.items()]
    if as_json:
        names = ("metric", "unit", "evidence", "not_measured_yet")
        print_json([dict(zip(names, row, strict=True)) for row in rows])
        return
    caption = "bench/NAME asks for a record of a benchmark: give its JSON with --bench"
    columns = ["metric", "unit", "section of the report", "not measured yet"]
    print_table("What a gate can ask for", columns, rows, caption=caption, unbroken=["metric"])


def print_memo(memo: Memo, *, label: str, show_all: bool = False) -> None:
    """Write the memo for people: verdict and reasons, then the gates that matter, or all."""
    print_text(f"{memo.verdict}: {memo.headline}")
    print_text(f"Data: {label}.")
    if memo.alarm is not None:
        print_text(f"Alarm: {memo.alarm.words}. {memo.alarm.explanation}")
    for title, lines in (
        ("Why", memo.reasons),
        ("Weaknesses of the strategy", memo.counter_evidence),
        ("What would change it", memo.would_change),
    ):
        if lines:
            print_text(f"{title}:")
        for line in lines:
            print_text(f"  - {line}")
    matter = [each for each in memo.gates if each.is_required or _is_failure(each)]
    shown = sorted(memo.gates if show_all else matter, key=_place)
    _print_gates(shown, "Gates" if show_all else "Required and failed gates")
    rest = [each for each in memo.gates if each not in shown]
    if rest:
        passed = sum(each.outcome == "pass" for each in rest)
        unmeasured = sum(each.outcome == "not measured" for each in rest)
        words = f"{passed} other gates pass, {unmeasured} were not measured"
        print_text(f"{words}: --all shows them")


_MARKS = {"fail": "FAIL", "not measured": "–", "pass": "pass"}
"""Outcome, in the order in which they are shown → its mark."""


def _is_failure(gate: GateResult) -> bool:
    """Tell whether a gate fails that is more than a fallback of the plan."""
    return gate.outcome == "fail" and gate.phase != "fallback"


def _place(gate: GateResult) -> tuple[bool, int]:
    """Order gates: required ones first, of these failures first."""
    return not gate.is_required, list(_MARKS).index(gate.outcome)


def _print_gates(gates: Sequence[GateResult], title: str) -> None:
    """Write gates as a table, and below why some were not measured."""
    rows = [
        (
            f"{_MARKS[each.outcome]} {each.gate}{' *' if each.is_required else ''}\n{each.words}",
            re.sub(r" at the (low|high) end$", r" (\1)", each.wanted),
            f"{each.found or 'not measured'}\n{each.evidence}",
        )
        for each in gates
    ]
    print_table(
        title,
        ["gate", "target", "measured [95 %], section"],
        rows,
        caption="* required for GO; (low), (high): end of the interval; test part, net of costs; "
        "section: of the report, with the evidence",
        unbroken=["target"],
    )
    reasons: dict[str, list[str]] = {}
    for each in gates:
        if each.reason:
            reasons.setdefault(each.reason, []).append(each.gate)
    if reasons:
        print_text("Not measured:")
    for reason, names in reasons.items():
        print_text(f"  - {', '.join(names)}: {reason}")
