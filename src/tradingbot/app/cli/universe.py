"""`tradingbot universe`: which symbols exist for us at which time."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.console import print_note, print_table, show_json

app = typer.Typer(help="List universes and their members at a time.")

SURVIVORSHIP = (
    "A fixed list drawn up later than the data carries survivorship bias: compare results with "
    "the equal weight of the same names, not only with an index."
)


@app.command("list")
def list_universes(as_json: JsonOption = False) -> None:
    """List the universes that come with the package.

    Example: [bold]tradingbot universe list[/bold]
    """
    from tradingbot.data.universes import known_universes, load_universe

    universes = [load_universe(name) for name in known_universes()]
    rows = [{"name": u.name, "symbols": len(u.symbols), "calendar": u.calendar} for u in universes]
    if show_json(as_json, rows):
        return
    print_table("Universes", ["name", "symbols", "calendar"], [list(row.values()) for row in rows])
    print_note(SURVIVORSHIP)


@app.command("show")
def show_universe(
    universe: Annotated[str, Argument(help="Name of a universe, or a CSV file.")],
    as_of: Annotated[
        datetime | None, Option(help="Only members on this day.", formats=["%Y-%m-%d"])
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a universe's members, on a day if one is given.

    Example: [bold]tradingbot universe show us143 --as-of 2024-06-28[/bold]
    """
    from tradingbot.data.universes import load_universe

    loaded = load_universe(universe)
    members = [m for m in loaded.members if as_of is None or m.is_member(as_of.date())]
    if show_json(as_json, {"name": loaded.name, "calendar": loaded.calendar, "members": members}):
        return
    rows = [
        (m.symbol, m.kind, m.sector, m.joined_on or "always", m.left_on or "still") for m in members
    ]
    title = f"{loaded.name}: {len(members)} members" + (f" on {as_of.date()}" if as_of else "")
    print_table(title, ["symbol", "kind", "sector", "joined", "left"], rows)
    print_note(SURVIVORSHIP)
