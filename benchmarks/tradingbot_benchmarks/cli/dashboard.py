"""`tradingbot bench dashboard`: how soon what happened is told and shown."""

from __future__ import annotations

from typing import Annotated

import typer

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.console import print_json, print_note, progress_bar
from tradingbot_benchmarks.cli.table import print_records, tell_if_busy

app = typer.Typer()


@app.command("dashboard")
def bench_dashboard(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer of each.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure from a trip to its alert (a minute).

    Sessions of a temporary workspace trip at random moments; `alerts watch` runs as a process of
    its own, and the time until a webhook on loopback has the alert is taken. Every trip must be
    told once, or nothing is reported. Needs the extra: trade.

    Example: [bold]tradingbot bench dashboard --json[/bold]
    """
    from tradingbot.runtime import journal  # noqa: F401 - it says which extra is missing
    from tradingbot_benchmarks.monitoring.bench import measure_monitoring
    from tradingbot_benchmarks.record import describe_machine

    tell_if_busy()
    with progress_bar("bench") as progress:
        found = measure_monitoring(progress, quick=quick)
    if as_json:
        print_json(found)
        return
    print_records("Dashboard and alerts benchmark (synthetic sessions)", found)
    for key, value in describe_machine().items():
        print_note(f"{key}: {value}")
