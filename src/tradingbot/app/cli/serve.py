"""`tradingbot serve`: the model on paper behind HTTP."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer import Option

from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.console import print_json, print_note

app = typer.Typer()


@app.command("serve")
def serve(  # noqa: PLR0913 - one option for each thing that a server is held to
    context: typer.Context,
    host: Annotated[
        str, Option(metavar="ADDRESS", help="Address; beyond loopback keys must exist.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="0: any that is free.")] = 8000,
    profile: Annotated[
        str, Option(help="local, or production: metrics and documents need a key as well.")
    ] = "local",
    threads: Annotated[int, Option(min=1, max=64, help="Predictions at the same time.")] = 1,
    waiting: Annotated[
        int, Option(min=0, max=1024, help="Predictions that may wait; more are shed.")
    ] = 1,
    rate: Annotated[float, Option(min=0.001, help="Requests a second of one key.")] = 100.0,
    burst: Annotated[int, Option(min=1, help="Requests at once of one key.")] = 200,
    max_bar_age: Annotated[
        float, Option(min=0.001, help="Seconds after which the newest bar is stale.")
    ] = 5400.0,
    drain: Annotated[int, Option(min=1, help="Seconds for requests under way at the end.")] = 20,
    time_zone: Annotated[
        str, Option(help="IANA zone of the exchange, for the day of the week.")
    ] = "America/New_York",
    as_json: JsonOption = False,
) -> None:
    """Serve the model that is on paper: predictions, health, metrics, swaps.

    It follows the registry: `models promote` and `models rollback` take effect while it runs.
    SIGTERM or Ctrl-C: requests under way are answered, then it ends. Needs the extra: serve.

    Example: [bold]tradingbot serve[/bold]

    Example: [bold]tradingbot serve --host 0.0.0.0 --profile production --port 8443[/bold]
    """
    from tradingbot.app.serving import open_server, serve_on
    from tradingbot.serving.server.settings import ServerSettings

    chosen: Any = profile
    settings = ServerSettings(
        host=host,
        port=port,
        profile=chosen,
        threads=threads,
        waiting=waiting,
        rate_per_s=rate,
        burst=burst,
        max_bar_age_s=max_bar_age,
        drain_s=drain,
        time_zone=time_zone,
    )
    parts, listening = open_server(invocation_of(context).workspace, settings)

    def tell(address: str) -> None:
        if as_json:
            print_json({"address": address, "profile": profile})
        else:
            print_note(f"serving on {address} ({profile}); ready when {address}/ready says so")

    serve_on(parts, listening, told=tell)
