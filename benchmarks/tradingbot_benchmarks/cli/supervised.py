"""`tradingbot bench supervised`: how long a prediction takes."""

from __future__ import annotations

from typing import Annotated

import typer

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.console import print_json, print_note, progress_bar
from tradingbot_benchmarks.cli.table import print_records

app = typer.Typer()


@app.command("supervised")
def bench_supervised(
    quick: Annotated[bool, typer.Option("--quick", help="Time less.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure predictions of every classifier, one at a time and batched (half a minute).

    Models are fitted on a small synthetic market. Stream, batch and reference are compared before
    anything is timed. Needs the extra: supervised.

    Example: [bold]tradingbot bench supervised --json[/bold]
    """
    from tradingbot_benchmarks.record import describe_machine
    from tradingbot_benchmarks.supervised import FULL, QUICK, measure_supervised

    with progress_bar("bench") as progress:
        found = measure_supervised(QUICK if quick else FULL, progress)
    if as_json:
        print_json(found)
        return
    print_records("Supervised benchmark (synthetic market; CPU, one thread)", found)
    for key, value in describe_machine().items():
        print_note(f"{key}: {value}")
