"""`tradingbot bench supervised`: how long a prediction takes."""

from __future__ import annotations

from typing import Annotated

import typer

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.console import progress_bar
from tradingbot_benchmarks.cli.table import tell_records

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
    from tradingbot_benchmarks.supervised import FULL, QUICK, measure_supervised

    with progress_bar("bench") as progress:
        found = measure_supervised(QUICK if quick else FULL, progress)
    tell_records(
        "Supervised benchmark (synthetic market; CPU, one thread)", found, wants_json=as_json
    )
