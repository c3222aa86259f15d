"""`tradingbot paper list | remove`: which sessions there are, and one that is not needed more."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer import Option

from tradingbot.app.cli.invocation import Invocation, JsonOption, invocation_of
from tradingbot.app.cli.session_acts import NameArgument, open_folder
from tradingbot.app.console import print_table, print_text, show_json
from tradingbot.domain.errors import ConfigError, UserError


def list_folders(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the sessions of the workspace: which run, where each stands.

    Example: [bold]tradingbot paper list[/bold]
    """
    from tradingbot.runtime.session.folder import list_sessions

    invocation = invocation_of(context)
    found = [_outline(each, invocation) for each in list_sessions(invocation.workspace)]
    if show_json(as_json, found):
        return
    rows = [tuple(_shown(value) for value in each.values()) for each in found]
    columns = ["session", "runs", "venue", "bars", "last bar (UTC)", "state", "equity"]
    print_table("Sessions", columns, rows, unbroken=("session",))
    if not found:
        invocation.print_hint("no session yet: tradingbot paper start MODEL --name NAME")


def remove_session(
    context: typer.Context,
    name: NameArgument,
    yes: Annotated[bool, Option("--yes", help="Remove it: journal, bars, venue.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove a session that is not needed any more, with its journal; its name is free again.

    Refused while it runs, and while Alpaca holds positions or orders of it. Back its journal up
    first where it matters: tradingbot journal backup FILE --journal NAME.

    Example: [bold]tradingbot paper remove drill --yes[/bold]
    """
    from tradingbot.data.atomic import discard_directory

    folder = open_folder(invocation_of(context), name)
    if not yes:
        rule = "removing a session must be confirmed: its journal is lost"
        raise ConfigError(rule, was="no --yes", where=name, remedy="Add --yes")
    with folder.hold():  # none that trades it, and none begins
        _require_nothing_held(folder)
        discard_directory(folder.path, wait=True)
    if not show_json(as_json, {"session": name, "is_removed": True}):
        print_text(f"{name} is removed")


def _require_nothing_held(folder: Any) -> None:
    """Refuse to forget what a venue still has: its owner would be unknown."""
    if folder.broker() == "paper" or not folder.has_journal:
        return
    from tradingbot.runtime.journal.reading import JournalReader

    with JournalReader.at(folder.journal_address) as journal:
        state = journal.state(folder.name)
        open_orders = [each for each in journal.orders(folder.name) if each.status.is_at_venue]
    held = {} if state is None else {key: each for key, each in state.positions.items() if each}
    if held or open_orders:
        told = ", ".join(f"{symbol} {units:+f}" for symbol, units in list(held.items())[:5])
        raise ConfigError(
            "a venue must hold nothing of a session that is removed",
            was=f"{told or 'no position'}, {len(open_orders)} open orders",
            where=folder.name,
            remedy=f"tradingbot paper kill {folder.name} --flatten, then resume and stop it",
        )


def _outline(folder: Any, invocation: Invocation) -> dict[str, Any]:
    """Say where a session stands, by its journal; of one that cannot be read why."""
    told: dict[str, Any] = {"session": folder.name, "is_running": folder.is_running}
    told |= dict.fromkeys(("broker", "bars", "at", "trading_state", "equity_ccy"))
    state = None
    try:
        told |= {"broker": folder.broker(), "bars": folder.bars_source()}
        if folder.has_journal:
            from tradingbot.runtime.journal.reading import JournalReader

            with JournalReader.at(folder.journal_address) as journal:
                state = journal.state(folder.name)
    except UserError as e:
        return {**told, "trading_state": invocation.with_workspace(f"{e}")}
    if state is not None:
        told |= {"at": state.at.isoformat(), "trading_state": state.trading_state.value}
        told |= {"equity_ccy": f"{state.equity_ccy:.2f}"}
    return told


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None else str(value)
