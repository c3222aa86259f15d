"""`--executor`, `--address` and `--token-file`: where what can be done side by side is done."""

from __future__ import annotations

import os
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from tradingbot.app.cli.invocation import Invocation
from tradingbot.domain.errors import ConfigError, require_known

if TYPE_CHECKING:
    from tradingbot.cluster.connection import ClusterAddress
    from tradingbot.executors.workers import StartWorkers

PROCESSES, RAY = "processes", "ray"
CLUSTER_FOLDER = "cluster"
"""Of the workspace."""
_ADDRESS = re.compile(r"[^\s:]+:[0-9]{1,5}")

ExecutorOption = Annotated[
    str,
    Option("--executor", help="processes of this machine, or ray: the nodes of a cluster."),
]
AddressOption = Annotated[
    str | None,
    Option(
        "--address",
        help="Head of the cluster, HOST:PORT; that of `cluster start` if left out.",
        metavar="HOST:PORT",
        show_default=False,
    ),
]
TokenOption = Annotated[
    Path | None,
    Option(
        "--token-file",
        help="Holds the token of the cluster; that of `cluster start` if left out.",
        metavar="FILE",
        show_default=False,
    ),
]


def choose_workers(
    invocation: Invocation, executor: str, address: str | None, token_file: Path | None
) -> StartWorkers | None:
    """Return what starts the workers that were asked for; None: processes of this machine.

    Raises:
        ConfigError: If the executor is unknown, or an option of clusters stands without one.
        MissingExtraError: If Ray is asked for and not installed.
    """
    require_known(executor, (PROCESSES, RAY), "--executor must be known")
    if executor == PROCESSES:
        for option, given in (("--address", address), ("--token-file", token_file)):
            if given is not None:
                rule = f"{option} must stand with --executor ray"
                raise ConfigError(rule, was=f"{option} alone", remedy=f"Leave {option} out")
        return None
    from tradingbot.cluster.connection import require_ray
    from tradingbot.cluster.executor import RayExecutor

    place = find_cluster(invocation, address, token_file)
    require_ray()
    return partial(RayExecutor, address=place)


def find_cluster(
    invocation: Invocation, address: str | None, token_file: Path | None
) -> ClusterAddress:
    """Return the cluster that is named, or that of the workspace.

    Raises:
        ConfigError: If there is none, or its token is not there.
    """
    from tradingbot.cluster.connection import ClusterAddress, require_ray
    from tradingbot.cluster.local import own_address
    from tradingbot.cluster.token import TOKEN_FILE, read_token

    folder = invocation.workspace / CLUSTER_FOLDER
    token = token_file or folder / TOKEN_FILE
    if token.is_file():
        require_ray()
        read_token(token)
    if address is None:
        return (
            own_address(folder)
            if token_file is None
            else ClusterAddress(own_address(folder).head, token)
        )
    require_address(address)
    if not token.is_file():
        raise ConfigError(
            "--token-file must name the token of the cluster",
            was="none",
            where=str(token),
            remedy="Copy it from the folder cluster of the head's workspace, readable by you alone",
        )
    return ClusterAddress(address, token)


def require_address(text: str) -> None:
    """Refuse what is no HOST:PORT.

    Raises:
        ConfigError: Naming the option.
    """
    if not _ADDRESS.fullmatch(text):
        remedy = "Write e.g. --address 10.0.0.5:6379"
        raise ConfigError("--address must be HOST:PORT", was=repr(text), remedy=remedy)


def usual_count(workers: StartWorkers | None) -> int:
    """Return how many workers are wanted where that is not said: all cores, or all of a cluster."""
    return (os.cpu_count() or 1) if workers is None else sys.maxsize
