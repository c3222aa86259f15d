"""`tradingbot cluster start | status | stop`."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from tradingbot.app.cli.executor_options import (
    CLUSTER_FOLDER,
    AddressOption,
    TokenOption,
    find_cluster,
    require_address,
)
from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.console import print_note, print_table, print_text, progress_bar, show_json
from tradingbot.domain.counts import write_count
from tradingbot.domain.errors import ConfigError

if TYPE_CHECKING:
    from tradingbot.cluster.started_nodes import StartedNode

app = typer.Typer(help="Start, see and stop nodes of a Ray cluster on this machine.")
_EXIT_FINDINGS = 1


@app.command("start")
def start(  # noqa: PLR0913 - one option for each thing that a node has
    context: typer.Context,
    nodes: Annotated[int, Option(min=1, max=64, help="Nodes on this machine.")] = 1,
    cpus: Annotated[
        int | None,
        Option(min=1, help="Items that a node does at once; all cores, shared by the nodes."),
    ] = None,
    gpus: Annotated[int, Option(min=0, help="GPUs of each node that Ray hands out.")] = 0,
    store_mb: Annotated[
        int, Option(min=80, help="Mebibytes for what workers of a node share.")
    ] = 512,
    port: Annotated[
        int, Option(min=0, max=65535, help="On which a head listens; 0: any that is free.")
    ] = 0,
    address: Annotated[
        str | None,
        Option(help="Join the cluster of this head instead.", metavar="HOST:PORT"),
    ] = None,
    token_file: Annotated[
        Path | None, Option(help="Token of the cluster that is joined.", metavar="FILE")
    ] = None,
    copies: Annotated[
        Path | None,
        Option(
            help="Folder on this machine's own disk: panels are copied there once, by hash.",
            metavar="FOLDER",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Start a cluster on this machine, or join one: a head, and nodes beside it.

    Nothing but Ray's own ports is opened, on all interfaces, no dashboard and no client server; to
    talk to the cluster takes its token, which lies in the folder [bold]cluster[/bold] of the
    workspace.

    Needs the extra: cluster.

    Example: [bold]tradingbot cluster start --nodes 3 --cpus 1[/bold]

    Example: [bold]tradingbot cluster start --address 10.0.0.5:6379 --token-file token[/bold]
    """
    invocation = invocation_of(context)
    if (address is None) != (token_file is None):
        was = "--address alone" if token_file is None else "--token-file alone"
        rule = "--address and --token-file must stand together: a cluster is joined with its token"
        raise ConfigError(rule, was=was, remedy="Give both, or none to start a cluster")
    if copies is not None and copies.exists() and not copies.is_dir():
        rule = "--copies must name a folder"
        raise ConfigError(rule, was="a file", where=str(copies), remedy="Name another")
    if address is not None:
        require_address(address)
        find_cluster(invocation, address, token_file)
        if port:
            rule = "--port must stand without --address: only a head listens"
            raise ConfigError(rule, was="both", remedy="Leave --port out")
    from tradingbot.cluster.local import start_nodes
    from tradingbot.cluster.node_settings import NodeSettings

    settings = NodeSettings(
        folder="",
        token_file=str(token_file.absolute()) if token_file else "",
        head=address or "",
        port=port,
        cpus=cpus or max(1, (os.cpu_count() or 1) // nodes),
        gpus=gpus,
        store_mb=store_mb,
        copies=str(copies.absolute()) if copies else "",
    )
    folder = invocation.workspace.absolute() / CLUSTER_FOLDER
    with progress_bar("cluster") as progress:
        started = start_nodes(folder, settings, nodes, progress=progress)
    if show_json(as_json, {"address": started[0].head, "nodes": _plain(started)}):
        return
    verb = "is" if len(started) == 1 else "are"
    nodes_up = write_count(len(started), "node")
    print_text(f"Cluster {started[0].head}: {nodes_up} of this machine {verb} up")
    print_note("The file token of the folder cluster lets its reader run code here: keep it")
    invocation.print_hint("Use it: tradingbot evaluate RUN --executor ray")
    invocation.print_hint("Stop it: tradingbot cluster stop")


@app.command("status")
def status(
    context: typer.Context,
    address: AddressOption = None,
    token_file: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which nodes of this machine were started, and which nodes the cluster has.

    Exits with 1 where a node that was started is gone, or the head does not answer.

    Needs the extra: cluster.

    Example: [bold]tradingbot cluster status --json[/bold]
    """
    invocation = invocation_of(context)
    place = find_cluster(invocation, address, token_file)
    from tradingbot.cluster.connection import connected, head_answers
    from tradingbot.cluster.remote_worker import alive_nodes
    from tradingbot.cluster.started_nodes import started_nodes

    own = started_nodes(invocation.workspace / CLUSTER_FOLDER)
    answers, found = head_answers(place), []
    if answers:
        with connected(place):
            found = alive_nodes()
    healthy = answers and all(node.is_alive for node in own)
    told = {
        "address": place.head,
        "answers": answers,
        "started_here": _plain(own),
        "nodes": [asdict(node) for node in found],
    }
    if not show_json(as_json, told):
        rows = [(node.name, node.process, "up" if node.is_alive else "gone") for node in own]
        print_table("Started here", ["node", "process", "state"], rows)
        print_table(
            f"Cluster {place.head}" if answers else f"Cluster {place.head} does not answer",
            ["node", "host", "CPUs"],
            [(node.id[:8], node.host, node.cpus) for node in found],
        )
    raise typer.Exit(0 if healthy else _EXIT_FINDINGS)


@app.command("stop")
def stop(context: typer.Context, as_json: JsonOption = False) -> None:
    """Stop the nodes that were started from this workspace, and nothing else on the machine.

    Example: [bold]tradingbot cluster stop[/bold]
    """
    from tradingbot.cluster.local import stop_nodes

    stopped = stop_nodes(invocation_of(context).workspace.absolute() / CLUSTER_FOLDER)
    if not show_json(as_json, {"stopped": [node.name for node in stopped]}):
        verb = "was" if len(stopped) == 1 else "were"
        told = f"{write_count(len(stopped), 'node')} {verb} stopped"
        print_text(told if stopped else "No node was started here")


def _plain(nodes: list[StartedNode]) -> list[dict[str, object]]:
    return [
        {"name": node.name, "process": node.process, "is_head": node.is_head, "up": node.is_alive}
        for node in nodes
    ]
