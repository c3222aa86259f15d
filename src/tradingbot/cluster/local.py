"""Nodes on this machine: started as processes of their own, written down, and only they stopped."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import mkdtemp

from tradingbot.cluster.connection import ClusterAddress, head_answers, require_ray
from tradingbot.cluster.node_settings import NodeSettings, state_file
from tradingbot.cluster.processes import begun_at, end_group, is_same
from tradingbot.data.atomic import storage_errors, write_text
from tradingbot.domain.counts import write_count
from tradingbot.domain.errors import ConfigError
from tradingbot.executors.executor import Progress, ignore_progress
from tradingbot.runs.lock import hold_lock

TOKEN_FILE, _NODES_FILE, _LOCK_FILE, _LOG_FILE = "token", "nodes.json", "lock", "log.txt"
_START_S, _STOP_S, _LOOK_S = 120.0, 20.0, 0.05
_HEAD_S, _KNOCK_S = 30.0, 0.5


@dataclass(frozen=True)
class StartedNode:
    """A node that was started from here."""

    name: str
    process: int
    begun: int
    """When its process began, in the kernel's ticks."""
    head: str
    """Address of the head of its cluster."""
    is_head: bool
    ray_folder: str = ""
    """Removed when it is stopped."""

    @property
    def is_alive(self) -> bool:
        """Tell whether its process is there, and the same."""
        return is_same(self.process, self.begun)


def started_nodes(folder: Path) -> list[StartedNode]:
    """Return the nodes that were started and not stopped, the dead among them too."""
    try:
        text = (folder / _NODES_FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [StartedNode(**each) for each in json.loads(text)]


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
        ConfigError: If nodes were started from this folder already, the head that is joined does
            not answer, or a node does not come up.
        StorageError: If the disk refuses.
    """
    require_ray()
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(folder / _LOCK_FILE, "cluster"):
        _refuse_second(folder)
        if settings.head:
            _await_head(ClusterAddress(settings.head, Path(settings.token_file)), progress)
        token = _own_token(folder, settings.token_file)
        nodes: list[StartedNode] = []
        head = settings.head
        try:
            for number in range(count):
                progress(number, count, "starting")
                place = folder / f"node-{number}"
                own = replace(settings, folder=str(place), token_file=str(token), head=head)
                nodes.append(_start_node(own, place))
                _write(folder, nodes)
                head = _await_node(nodes[-1], place)
                nodes[-1] = replace(nodes[-1], head=head)
                _write(folder, nodes)
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


def _own_token(folder: Path, given: str) -> Path:
    """Return the file of the token, a copy of that given, or drawn where there is none."""
    path = folder / TOKEN_FILE
    with storage_errors(path):
        if given and not (path.exists() and path.samefile(given)):
            token = Path(given).read_text(encoding="ascii").strip()
            path.unlink(missing_ok=True)
        elif path.exists():
            return path
        else:
            token = secrets.token_hex(32)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(token)
    return path


def _start_node(settings: NodeSettings, place: Path) -> StartedNode:
    # Ray's sockets lie there, whose paths may have 107 bytes: a workspace may be longer.
    ray_folder = mkdtemp(prefix="tb-ray-") if settings.is_head else ""
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
            lines = (place / _LOG_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
            raise ConfigError(
                "a node must come up",
                was=f"none after {_START_S:g} s" if is_late else "its process ended",
                where=lines[-1][:200] if lines else str(place),
                remedy=f"Look at {place / _LOG_FILE}; free memory, or another port",
            )
        time.sleep(_LOOK_S)
    told: dict[str, str] = json.loads(state_file(place).read_text(encoding="utf-8"))
    return told["address"]


def _write(folder: Path, nodes: Sequence[StartedNode]) -> None:
    text = json.dumps([asdict(node) for node in nodes], indent=2)
    write_text(folder / _NODES_FILE, text + "\n")


def _stop(folder: Path, nodes: Sequence[StartedNode]) -> None:
    """End nodes, the head last, and remove what they leave; the token stays for the next start."""
    for node in reversed(nodes):
        end_group(node.process, node.begun, _STOP_S)
        shutil.rmtree(folder / node.name, ignore_errors=True)
        if node.ray_folder:
            shutil.rmtree(node.ray_folder, ignore_errors=True)
    (folder / _NODES_FILE).unlink(missing_ok=True)
