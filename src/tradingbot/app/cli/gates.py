"""`tradingbot gates RUN`: GO, CONDITIONAL or NO-GO, gate by gate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.console import print_json, print_table, print_text

app = typer.Typer()


@app.command("gates")
def judge_gates(
    context: typer.Context,
    reference: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="Id of a run, the beginning of it, or its folder."),
    ] = None,
    gates: Annotated[
        str, typer.Option(help="Gates that come with the package, or a YAML file.")
    ] = "product",
    bench: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="JSON of tradingbot bench; may be given again."),
    ] = None,
    show_metrics: Annotated[
        bool, typer.Option("--metrics", help="List what a gate can ask for, and leave.")
    ] = False,
    show_file: Annotated[
        bool, typer.Option("--print", help="Print the file of gates, to be edited, and leave.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Judge an evaluated run by the gates and write the memo: GO, CONDITIONAL or NO-GO.

    Nothing is measured again. Gates are data: print them, edit the copy, judge by it.

    Example: [bold]tradingbot gates 20260105[/bold]

    Example: [bold]tradingbot gates --print[/bold]

    Example: [bold]tradingbot gates 20260105 --gates mine.yaml[/bold]
    """
    from tradingbot.app.gates_file import gates_text
    from tradingbot.app.gates_view import judge_run, print_memo
    from tradingbot.app.training.session import RUNS_FOLDER
    from tradingbot.domain.errors import ConfigError
    from tradingbot.runs import find_run

    if show_metrics:
        _print_metrics(as_json=as_json)
        return
    if show_file:
        print_text(gates_text(gates).rstrip("\n"))
        return
    if reference is None:
        raise ConfigError(
            "a run must be given", was="none", remedy="List them with: tradingbot runs list"
        )
    run = find_run(invocation_of(context).workspace / RUNS_FOLDER, reference)
    memo = judge_run(run.path, gates, bench or ())
    if as_json:
        print_json(memo)
        return
    print_memo(memo, label=run.record.data.label)


def _print_metrics(*, as_json: bool) -> None:
    from tradingbot.evaluation.gates.measurements import MEASUREMENTS

    rows = [(name, each.unit, each.evidence) for name, each in MEASUREMENTS.items()]
    if as_json:
        print_json([{"metric": n, "unit": u, "evidence": e} for n, u, e in rows])
        return
    caption = "bench/NAME asks for a record of a benchmark: give its JSON with --bench"
    columns = ["metric", "unit", "section of the report"]
    print_table("What a gate can ask for", columns, rows, caption=caption)
