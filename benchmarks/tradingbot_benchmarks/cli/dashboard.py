"""`tradingbot bench dashboard`: how soon what happened is told and shown."""

from __future__ import annotations

from typing import Annotated

import typer

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.console import progress_bar
from tradingbot_benchmarks.cli.table import tell_if_busy, tell_records

app = typer.Typer()


@app.command("dashboard")
def bench_dashboard(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer of each.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure from a new bar to the screen, and from a trip to its alert (some minutes).

    A real Chromium opens the dashboard of a temporary workspace: the time until a bar that was just
    journaled is on the screen, until the page shows its first number, and until a session of a
    million bars is drawn with both of its extremes. What is not there to see with is said.
    Sessions of a temporary workspace trip at random moments; `alerts watch` runs as a process of
    its own, and the time until a webhook on loopback has the alert is taken. Every trip must be
    told once, or nothing is reported. Needs the extras: dashboard and trade.

    Example: [bold]tradingbot bench dashboard --json[/bold]
    """
    from tradingbot.monitoring.dashboard.server import require_packages

    require_packages()
    from tradingbot.runtime import journal  # noqa: F401 - it says which extra is missing
    from tradingbot_benchmarks.monitoring.bench import measure_monitoring

    tell_if_busy()
    with progress_bar("bench") as progress:
        found = measure_monitoring(progress, quick=quick)
    tell_records("Dashboard and alerts benchmark (synthetic sessions)", found, wants_json=as_json)
