"""`tradingbot dashboard`: sessions, agents, training, evaluations and models in a browser."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer
from typer import Option

from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.console import print_note, show_json

app = typer.Typer()


@app.command("dashboard")
def serve_dashboard(
    context: typer.Context,
    host: Annotated[
        str, Option(metavar="ADDRESS", help="IP address; another than loopback asks for a key.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="Port; 0: any that is free.")] = 8501,
    allow_host: Annotated[
        list[str] | None,
        Option(
            metavar="NAME[:PORT]",
            help="Name that it answers under beside its own, e.g. of a reverse proxy; one of "
            "elsewhere asks for a key. May be given again.",
        ),
    ] = None,
    journal: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="Journal beside those of the workspace: a path, or "
            "postgresql://USER@HOST/DATABASE.",
        ),
    ] = None,
    refresh: Annotated[
        float, Option(min=0.1, max=60.0, help="Seconds between two looks at what may be new.")
    ] = 0.4,
    as_json: JsonOption = False,
) -> None:
    """Show the workspace in a browser, as it is now: what trades, learns and was judged.

    Everything is read-only; stopping, killing, arming, promoting and rolling back ask for an API
    key of the right scope and are audited. Beyond loopback every reader needs a key of scope read.
    Requests under a host name that is neither its own nor allowed are refused.
    Needs the extra: dashboard. Ends with Ctrl-C.

    Example: [bold]tradingbot dashboard[/bold]

    Example: [bold]tradingbot dashboard --port 9000 --journal postgresql://me@db/journal[/bold]
    """
    from tradingbot.monitoring.dashboard.server import require_dashboard, run_dashboard
    from tradingbot.monitoring.dashboard.settings import DashboardSettings

    invocation = invocation_of(context)
    workspace, options = str(invocation.workspace), invocation.options
    settings = DashboardSettings(
        workspace, host, port, journal, refresh, tuple(allow_host or ()), options
    )
    free = require_dashboard(settings, datetime.now(UTC))

    def tell(address: str) -> None:
        if not show_json(as_json, {"address": address, "workspace": workspace}):
            print_note(f"Dashboard of {workspace}: {address} (Ctrl-C ends it)")

    run_dashboard(settings, free, told=tell)
