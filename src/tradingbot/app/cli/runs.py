"""`tradingbot runs list | show | compare | verify | migrate`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument

from tradingbot.app.cli import run_migration
from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.cli.joint_table import print_beneath
from tradingbot.app.cli.options import RunArgument, look_up_run, runs_root
from tradingbot.app.console import print_json, print_table, print_text, show_json
from tradingbot.evaluation.performance.table import PERFORMANCE_COLUMNS, performance_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tradingbot.app import runs_view
    from tradingbot.runs import RunDirectory
    from tradingbot.training.result_file import TrainResult

app = typer.Typer(help="List, show, compare, verify and migrate training runs.")

EXIT_FINDINGS, _DIGITS = 1, 12


@app.command("list")
def list_all(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the runs of the workspace, the newest last.

    Example: [bold]tradingbot runs list[/bold]
    """
    from tradingbot.app import runs_view

    invocation = invocation_of(context)
    root = runs_root(invocation)
    lines = runs_view.list_lines(root)
    if show_json(as_json, lines):
        return
    columns = ["run", "state", "learner", "created (UTC)", "steps", "trade", "score", "data"]
    caption = (
        "trade: agents that validation lets trade; score: mean of the single agents' Sharpe ratios "
        "of alpha on the first half of validation, newest checkpoint; none where no agent trades"
    )
    rows = [
        (
            *(line.id, line.state, line.learner, _minute(line.created_at)),
            *(line.steps, _trading(line), line.score, line.problem or line.data),
        )
        for line in lines
    ]
    print_table("Runs", columns, rows, caption=caption, unbroken=("run", "state"))
    if not lines:
        invocation.print_hint(f"no run in {root}; begin one with: tradingbot train")


@app.command("show")
def show_run(context: typer.Context, reference: RunArgument, as_json: JsonOption = False) -> None:
    """Show a run: state, verdict, periods, figures of validation and test, checkpoints.

    Example: [bold]tradingbot runs show 20260105[/bold]

    Example: [bold]tradingbot runs show us143-first --json[/bold]
    """
    from tradingbot.app import runs_view

    invocation = invocation_of(context)
    run = look_up_run(invocation, reference)
    checkpoints, figures = runs_view.folder_lines(run.path), runs_view.last_figures(run)
    result = runs_view.result_of(run)
    verdict = runs_view.verdict_of(run, invocation.workspace)
    if as_json:
        from tradingbot.evaluation.dossier.codec import to_plain

        print_json(
            {
                "record": run.record,
                "state": runs_view.state_of(run),
                "status": run.status(),
                "parameters": (parameters := runs_view.parameters_of(run)) and parameters.figures,
                "metrics": figures,
                "checkpoints": checkpoints,
                "result": None if result is None else to_plain(result),
                "verdict": verdict,
                "folder": run.path,
            }
        )
        return
    _print_record(run, verdict, result)
    if result is not None:
        _print_result(result)
    _print_figures(figures)
    _print_checkpoints(checkpoints)
    for finding in run.status().verdicts:
        print_text(f"flight recorder: {finding}")
    if verdict == runs_view.NOT_EVALUATED and result:
        invocation.print_hint(f"evaluate it with: tradingbot evaluate {run.id}")


@app.command("compare")
def compare_two(
    context: typer.Context,
    first: Annotated[str, Argument(metavar="A", help="A run.")],
    second: Annotated[str, Argument(metavar="B", help="Another run.")],
    as_json: JsonOption = False,
) -> None:
    """Compare what two runs wrote: configuration, data, figures, weights. See also: compare.

    Example: [bold]tradingbot runs compare us143-first us143-second[/bold]
    """
    from tradingbot.app import runs_view

    invocation = invocation_of(context)
    comparison = runs_view.compare_runs(
        look_up_run(invocation, first), look_up_run(invocation, second)
    )
    derived = {
        "note": comparison.note,
        "remark": comparison.note,  # its name until version 1
        "weights_are_equal": comparison.weights_are_equal,
    }
    if show_json(as_json, {**_fields(comparison), **derived}):
        return
    _print_comparison(comparison)


@app.command("verify")
def verify_run(context: typer.Context, reference: RunArgument, as_json: JsonOption = False) -> None:
    """Read every byte that results and verdicts read of a run, and compare it with its hash.

    Checkpoints, record, status, result and journals. Exits with 0 where all is whole, with 1
    where something is missing, damaged or edited.

    Example: [bold]tradingbot runs verify us143-first[/bold]
    """
    from tradingbot.app import runs_view
    from tradingbot.runs import find_run_folder

    folder = find_run_folder(runs_root(invocation_of(context)), reference)
    problems, lines = runs_view.record_problems(folder), runs_view.folder_lines(folder, verify=True)
    damaged = [line for line in lines if line.problem]
    whole = not damaged and not problems
    if as_json:
        document = {"run": folder.name, "problems": problems, "checkpoints": lines, "whole": whole}
        print_json(document)
    else:
        _print_checkpoints(lines)
        for problem in problems:
            print_text(f"run is damaged: {problem}")
        print_text(f"{len(lines) - len(damaged)} of {len(lines)} checkpoints are whole")
    if not whole:
        raise typer.Exit(EXIT_FINDINGS)


app.command("migrate")(run_migration.migrate_run)


def _trading(line: runs_view.RunLine) -> str:
    return "" if line.trading_agents is None else f"{line.trading_agents} of {line.agents}"


def _fields(record: Any) -> dict[str, Any]:
    import dataclasses

    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


def _print_record(run: RunDirectory, verdict: str, result: TrainResult | None) -> None:
    from tradingbot.app import runs_view

    record, status, parameters = run.record, run.status(), runs_view.parameters_of(run)
    data = record.data
    drawn = " (drawn)" if record.seed_was_drawn else ""
    dirty = ", with changes" if record.git.dirty else ""
    facts = {
        "state": runs_view.state_of(run) + (f": {status.reason}" if status.reason else ""),
        "verdict": verdict,
        "learner": record.learner,
        "environment": runs_view.describe_environment_of(run, result),
        "created": f"{_minute(record.created_at)} UTC",
        "updates": f"{status.update:,}",
        "steps per agent": f"{status.steps:,}",
        "seed": f"{record.seeds['root']}{drawn}",
        "config hash": record.config_sha256[:_DIGITS],
        "data": data.in_words,
        **{name: str(period) for name, period in record.periods.items()},
        "data hash": data.data_sha256[:_DIGITS],
        "certificate": (data.certificate_sha256 or "none")[:_DIGITS],
        "agents": f"{len(data.agents)}: {', '.join(data.agents)}",
        "inputs": f"{len(data.feature_ids)}",
        "parameters": parameters.words if parameters else "not counted",
        "code": f"{record.code_version}, {record.code_sha256[:_DIGITS]}",
        "commit": f"{(record.git.commit or 'none')[:_DIGITS]}{dirty}",
        "device": str(record.environment.get("device", "")),
        "parent": record.parent or "none",
        "folder": str(run.path),
    }
    print_table(f"Run {run.id}", ["what", "value"], list(facts.items()))
    for complaint in parameters.complaints() if parameters else ():
        print_text(f"over the budget of parameters: {complaint}")
    for resumption in status.resumptions:
        start = resumption.checkpoint or "the beginning"
        notes = [*resumption.skipped, *(f"forced: {text}" for text in resumption.forced)]
        print_text(f"resumed {_minute(resumption.at)} from {start}{_listed(notes)}")


def _print_figures(figures: dict[str, float]) -> None:
    if figures:
        print_table("Last figures, means", ["figure", "value"], sorted(figures.items()))


def _print_result(result: TrainResult) -> None:
    """Write what validation and test say of the agents beside other policies."""
    word = "synthetic" if result.synthetic else "observed bars, simulated trading"
    played = [(part.part, row) for part in result.parts for row in result.shown_policies(part)]
    rows = [[f"{part}: {row.policy}", *performance_row(row)[1:6]] for part, row in played]
    title, caption = f"Validation and test ({word}, net of costs)", f"Kept: {result.decision}."
    print_table(title, ["part: policy", *PERFORMANCE_COLUMNS[1:6]], rows, caption=caption)
    print_beneath(result)


def _print_checkpoints(lines: list[runs_view.CheckpointLine]) -> None:
    rows = [
        (
            *(line.name, ", ".join(line.labels), line.update, line.steps),
            *(line.n_bytes / 1e6, (line.weights_sha256 or "")[:_DIGITS], line.problem or "whole"),
        )
        for line in lines
    ]
    columns = ["checkpoint", "labels", "updates", "steps", "MB", "weights", "condition"]
    print_table("Checkpoints", columns, rows)


def _print_comparison(comparison: runs_view.Comparison) -> None:
    a, b = comparison.runs
    differing = [(text.partition(": ")[0], text.partition(": ")[2]) for text in comparison.config]
    rows: list[tuple[Any, ...]] = [(n, *map(_cut, pair)) for n, pair in comparison.facts.items()]
    figures = [(n, *pair) for n, pair in comparison.metrics.items()]
    _print_unless_empty("Configuration", ["key", f"{a} → {b}"], differing, "is the same")
    _print_unless_empty("Facts that differ", ["fact", a, b], rows, "none")
    _print_unless_empty("Last figures", ["figure", a, b], figures, "none yet")
    if comparison.note:
        print_text(f"note: {comparison.note}")
    words = {True: "equal, bit for bit", False: "different", None: "not there in both"}
    print_text(f"weights: {words[comparison.weights_are_equal]}")


def _print_unless_empty(
    title: str, columns: list[str], rows: Sequence[tuple[Any, ...]], otherwise: str
) -> None:
    if rows:
        print_table(title, columns, rows)
    else:
        print_text(f"{title}: {otherwise}")


def _cut(value: object) -> object:
    return value[:_DIGITS] if isinstance(value, str) and len(value) >= 40 else value


def _minute(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M}"


def _listed(texts: list[str]) -> str:
    return f" ({'; '.join(texts)})" if texts else ""
