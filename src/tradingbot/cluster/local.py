"""Nodes on this machine: started as processes of their own, written down, and only they stopped."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

from tradingbot.cluster.connection import ClusterAddress, head_answers, require_ray
from tradingbot.cluster.node_settings import NodeSettings, state_file
from tradingbot.cluster.processes import begun_at, end_group
from tradingbot.cluster.started_nodes import (
    RAY_FOLDER_PREFIX,
    StartedNode,
    forget_nodes,
    started_nodes,
    write_nodes,
)
from tradingbot.cluster.token import TOKEN_FILE, own_token
from tradingbot.data.atomic import storage_errors, write_text
from tradingbot.domain.counts import write_count
from tradingbot.domain.errors import ConfigError
from tradingbot.executors.executor import Progress, ignore_progress
from tradingbot.runs.lock import hold_lock

_LOCK_FILE, _LOG_FILE, _FAILED_FILE = "lock", "log.txt", "failed.txt"
_START_S, _STOP_S, _LOOK_S = 120.0, 20.0, 0.05
_HEAD_S, _KNOCK_S = 30.0, 0.5
_RAY_LOGS = Path("session_latest", "logs")
_RAY_FILES = ("gcs_server.out", "gcs_server.err", "raylet.out", "raylet.err")
"""What a head's Ray says of itself."""
_KEPT_LINES, _LONGEST_CAUSE = 100, 300
_RAY_PREFIX = re.compile(r"\[[^]]*\] (\S+:[0-9]+: )?")
"""Time, process and place in Ray's own source."""


def own_address(folder: Path) -> ClusterAddress:
    """Return the cluster that was started, or joined, from a folder.

    Raises:
        ConfigError: If there is none.
    """
    nodes = started_nodes(folder)
    if not nodes:
        raise ConfigError(
            "a cluster must be started or named",
            was="none",
            where=str(folder),
            remedy="Run: tradingbot cluster start; or give --address HOST:PORT and --token-file",
        )
    return ClusterAddress(nodes[0].head, folder / TOKEN_FILE)


def start_nodes(
    folder: Path,
    settings: NodeSettings,
    count: int = 1,
    *,
    progress: Progress = ignore_progress,
) -> list[StartedNode]:
    """Start a cluster, a head and `count` − 1 nodes that join it; or nodes that join another.

    Args:
        folder: Where they are written down; it holds the token.
        settings: Of each node; a head and its token are named where nodes only join. A token is
            kept in the folder, and drawn where there is none.
        count: Nodes in all.
        progress: Told what is waited for.

    Raises:
        MissingExtraError: If Ray is not installed.
        ConfigError: If nodes were started from this folder already, the token is none, the port is
            taken, the head that is joined does not answer, or a node does not come up.
        StorageError: If the disk refuses.
    """
    require_ray()
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(folder / _LOCK_FILE, "cluster"):
        _refuse_second(folder)
        if settings.head:
            _await_head(ClusterAddress(settings.head, Path(settings.token_file)), progress)
        elif settings.port:
            _require_free(settings.port)
        token = own_token(folder, settings.token_file)
        nodes: list[StartedNode] = []
        head = settings.head
        try:
            for number in range(count):
                progress(number, count, "starting")
                place = folder / f"node-{number}"
                own = replace(settings, folder=str(place), token_file=str(token), head=head)
                nodes.append(_start_node(own, place))
                write_nodes(folder, nodes)
                head = _await_node(nodes[-1], place)
                nodes[-1] = replace(nodes[-1], head=head)
                write_nodes(folder, nodes)
        except BaseException:
            _stop(folder, nodes)
            raise
        return nodes


def stop_nodes(folder: Path) -> list[StartedNode]:
    """Stop the nodes that were started from a folder, and nothing else; return those.

    Raises:
        ConfigError: If another process starts or stops them now.
    """
    if not folder.is_dir():
        return []
    with hold_lock(folder / _LOCK_FILE, "cluster"):
        nodes = started_nodes(folder)
        _stop(folder, nodes)
        return nodes


def _refuse_second(folder: Path) -> None:
    there = [node for node in started_nodes(folder) if node.is_alive]
    if there:
        raise ConfigError(
            "a cluster must be started once",
            was=f"{write_count(len(there), 'node')} of {there[0].head} alive",
            where=str(folder),
            remedy="Run: tradingbot cluster status, or tradingbot cluster stop",
        )
    _stop(folder, started_nodes(folder))  # what is left of nodes that were killed


def _require_free(port: int) -> None:
    """Refuse a port of a head that another process listens on: Ray would only fall silent."""
    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that was left is free
        try:
            own.bind(("", port))
        except OSError as e:
            raise ConfigError(
                "the port of the head must be free",
                was=e.strerror,
                where=f"port {port}",
                remedy="Give another with --port, or leave it out",
            ) from e


def _start_node(settings: NodeSettings, place: Path) -> StartedNode:
    # Ray's sockets lie there, whose paths may have 107 bytes: a workspace may be longer.
    ray_folder = mkdtemp(prefix=RAY_FOLDER_PREFIX) if settings.is_head else ""
    settings = replace(settings, ray_folder=ray_folder)
    with storage_errors(place):
        place.mkdir(exist_ok=True)
        state_file(place).unlink(missing_ok=True)
        with (place / _LOG_FILE).open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tradingbot.cluster.node_process", settings.as_text()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
    begun = begun_at(process.pid)
    process.returncode = 0  # it stays when this process ends: nothing is to be said of it then
    return StartedNode(place.name, process.pid, begun, settings.head, settings.is_head, ray_folder)


def _await_head(address: ClusterAddress, progress: Progress) -> None:
    """Wait for the head that is joined: it may be starting too.

    Raises:
        ConfigError: If it does not answer for half a minute.
    """
    begin = time.monotonic()
    while not head_answers(address):
        waited = time.monotonic() - begin
        if waited > _HEAD_S:
            raise ConfigError(
                "the head that is joined must answer",
                was=f"nothing listens there for {_HEAD_S:g} s",
                where=address.head,
                remedy="Start it first: tradingbot cluster start; or look at --address",
            )
        progress(0, 0, f"waiting for the head {address.head}: {waited:.0f} of {_HEAD_S:g} s")
        time.sleep(_KNOCK_S)


def _await_node(node: StartedNode, place: Path) -> str:
    """Wait until a node is up; return the address of its head."""
    until = time.monotonic() + _START_S
    while not state_file(place).exists():
        is_late = time.monotonic() > until
        if is_late or not node.is_alive:
            raise ConfigError(
                "a node must come up",
                was=f"none after {_START_S:g} s" if is_late else "its process ended",
                where=_keep_log(node, place),
                remedy=f"Look at {place.parent / _FAILED_FILE}; free memory, or another port",
            )
        time.sleep(_LOOK_S)
    told: dict[str, str] = json.loads(state_file(place).read_text(encoding="utf-8"))
    return told["address"]


def _keep_log(node: StartedNode, place: Path) -> str:
    """Keep what a failed node and its Ray wrote where its end does not remove it.

    Returns:
        Its last line, which usually says why.
    """
    own = (place / _LOG_FILE).read_text(encoding="utf-8", errors="replace").strip()
    kept = [own]
    for name in _RAY_FILES if node.ray_folder else ():
        path = Path(node.ray_folder) / _RAY_LOGS / name
        if path.is_file():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            kept += [f"\n{name}:", *lines[-_KEPT_LINES:]]
    write_text(place.parent / _FAILED_FILE, "\n".join(kept) + "\n")
    last = own.rpartition("\n")[2] or "it said nothing"
    return _RAY_PREFIX.sub("", last)[:_LONGEST_CAUSE]


def _stop(folder: Path, nodes: Sequence[StartedNode]) -> None:
    """End nodes, the head last, and remove what they leave; the token stays for the next start."""
    for node in reversed(nodes):
        end_group(node.process, node.begun, _STOP_S)
        shutil.rmtree(folder / node.name, ignore_errors=True)
        if node.ray_folder:
            shutil.rmtree(node.ray_folder, ignore_errors=True)
    forget_nodes(folder)
