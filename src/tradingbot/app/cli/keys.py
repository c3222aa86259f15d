"""`tradingbot keys create | list | revoke | rotate`: API keys of the inference server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.console import print_note, print_table, print_text, show_json

if TYPE_CHECKING:
    from tradingbot.serving.access.keys import ApiKey, KeyBook, NewKey

app = typer.Typer(help="Make, list, rotate and revoke API keys of the inference server.")

IdArgument = Annotated[str, Argument(metavar="ID", help="Id of a key, as `keys list` shows it.")]
DaysOption = Annotated[int, Option(min=1, max=366, help="Days after which it expires.")]


@app.command("create")
def create_key(
    context: typer.Context,
    name: Annotated[str, Argument(metavar="NAME", help="Who it is for.")],
    scopes: Annotated[
        list[str], Option("--scope", help="read, predict, trade or admin; several times.")
    ],
    days: DaysOption = 90,
    as_json: JsonOption = False,
) -> None:
    """Make a key; its secret is shown once and stored nowhere, only its hash is.

    Example: [bold]tradingbot keys create dashboard --scope read --scope predict[/bold]
    """
    given: Any = tuple(scopes)
    now, lifetime = datetime.now(UTC), timedelta(days=days)
    _show_new(_book(context).create(name, given, at=now, lifetime=lifetime), as_json=as_json)


@app.command("list")
def list_keys(context: typer.Context, as_json: JsonOption = False) -> None:
    """List all keys: who for, what for, until when.

    Example: [bold]tradingbot keys list[/bold]
    """
    now = datetime.now(UTC)
    keys = _book(context).read()
    if show_json(as_json, [_plain(key, now) for key in keys]):
        return
    rows = [
        (key.id, key.name, " ".join(key.scopes), key.refusal(now) or "alive", f"{key.expires_at}")
        for key in keys
    ]
    columns = ["id", "name", "scopes", "state", "expires (UTC)"]
    print_table("Keys", columns, rows, unbroken=("id", "state"))
    if not keys:
        invocation_of(context).print_hint(
            "no key yet; make one with: tradingbot keys create NAME --scope predict"
        )


@app.command("revoke")
def revoke_key(context: typer.Context, key_id: IdArgument, as_json: JsonOption = False) -> None:
    """End a key now; a server that runs takes it no more.

    Example: [bold]tradingbot keys revoke 3f9a01c2[/bold]
    """
    now = datetime.now(UTC)
    key = _book(context).revoke(key_id, at=now)
    if not show_json(as_json, _plain(key, now)):
        print_text(f"key {key.id} ({key.name}) is revoked")


@app.command("rotate")
def rotate_key(
    context: typer.Context,
    key_id: IdArgument,
    overlap: Annotated[
        float, Option(min=0.0, max=720.0, help="Hours for which the old key is still taken.")
    ] = 24.0,
    days: DaysOption = 90,
    as_json: JsonOption = False,
) -> None:
    """Make a key like another one, which expires after an overlap in which both are taken.

    Example: [bold]tradingbot keys rotate 3f9a01c2 --overlap 48[/bold]
    """
    made = _book(context).rotate(
        key_id,
        at=datetime.now(UTC),
        overlap=timedelta(hours=overlap),
        lifetime=timedelta(days=days),
    )
    _show_new(made, as_json=as_json)


def _book(context: typer.Context) -> KeyBook:
    from tradingbot.serving.access.keys import KeyBook

    return KeyBook(invocation_of(context).workspace)


def _show_new(made: NewKey, *, as_json: bool) -> None:
    """Show a secret, this once: on standard output alone, so that it can be piped to a vault."""
    if show_json(as_json, {**_plain(made.key, made.key.created_at), "secret": made.secret}):
        return
    print_text(made.secret)
    told = f"key {made.key.id} ({made.key.name}): {' '.join(made.key.scopes)}"
    print_note(f"{told}, until {made.key.expires_at}. It is not shown again.")


def _plain(key: ApiKey, now: datetime) -> dict[str, Any]:
    names = ("id", "name", "scopes", "created_at", "expires_at", "revoked_at")
    return {name: getattr(key, name) for name in names} | {"state": key.refusal(now) or "alive"}
