"""`tradingbot plugins list | check`: parts of one's own, and whether they keep the rules."""

from __future__ import annotations

import typer

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.console import print_json, print_note, print_table, show_json
from tradingbot.domain.extension import KINDS, extensions

app = typer.Typer(help="Strategies, reward terms and features of your own.")


@app.command("list")
def list_parts(as_json: JsonOption = False) -> None:
    """List what plugins declare: installed ones, and those given with --plugin.

    Example: [bold]tradingbot plugins list --plugin mine.py[/bold]
    """
    rows = [
        {
            "kind": kind,
            "name": part.name,
            "plugin": part.origin.id if part.origin else "",
            "place": part.origin.place if part.origin else "",
        }
        for kind in KINDS
        for part in extensions(kind).values()
    ]
    if show_json(as_json, rows):
        return
    columns = ["kind", "name", "plugin", "from"]
    print_table("Parts of plugins", columns, [[*row.values()] for row in rows])
    if not rows:
        print_note("None; add a file with: tradingbot --plugin FILE plugins list")


@app.command("check")
def check(as_json: JsonOption = False) -> None:
    """Check what plugins declare on a synthetic market: causal, finite, within bounds.

    Exits with 0 where everything holds, with 1 where something does not.

    Example: [bold]tradingbot plugins check --plugin mine.py[/bold]
    """
    from tradingbot.facade.checking import check_parts

    found = check_parts()
    if as_json:
        print_json(found)
    else:
        rows = [[part.kind, part.name, part.plugin, part.problem or "holds"] for part in found]
        print_table("Parts of plugins, checked (synthetic)", ["kind", "name", "plugin", ""], rows)
    raise typer.Exit(1 if any(part.problem for part in found) else 0)
