"""`tradingbot doctor`."""

from __future__ import annotations

import typer

from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.console import print_json, print_note, print_table

app = typer.Typer()


@app.command("doctor")
def examine(context: typer.Context, as_json: JsonOption = False) -> None:
    """Check versions, extras, device, threads, memory and disk; say what to do about what is wrong.

    Exits with 0 where all is well, with 1 where something needs attention.

    Example: [bold]tradingbot doctor --json[/bold]
    """
    from tradingbot.app.doctor import diagnose, is_healthy

    checks = diagnose(invocation_of(context).workspace)
    healthy = is_healthy(checks)
    if as_json:
        print_json({"healthy": healthy, "checks": checks})
    else:
        rows = [(check.name, check.status, check.observed, check.remedy) for check in checks]
        print_table("Doctor", ["check", "status", "seen", "what to do"], rows)
        print_note("All is well." if healthy else "Something needs attention: see the last column.")
    raise typer.Exit(0 if healthy else 1)
