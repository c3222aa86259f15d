"""A process that is one node: `python -m tradingbot.cluster.node_process SETTINGS`.

It starts what Ray needs and holds it: the processes of a node die with this one, however it ends
(the kernel sees to it), so that nothing of a node outlives it and nothing else is ever stopped.
`ray start` would open more than is needed (a client server, a monitor with a port of its own) and
cannot start two nodes on a machine; Ray's own `cluster_utils` is built on the same two classes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from tradingbot.cluster.connection import ClusterAddress, head_answers, ray_environment
from tradingbot.cluster.node_settings import MEBIBYTE, NodeSettings, read_node, state_file
from tradingbot.data.atomic import write_text
from tradingbot.data.node_copies import COPIES_VARIABLE

_HEAD_S = 20
"""Without a head after which a node gives up what it does."""
_LOOK_S = 0.5


def run_node(settings: NodeSettings) -> bool:
    """Be a node until SIGTERM or SIGINT, or until a process of Ray ends.

    Returns:
        Whether it was asked to end.
    """
    ended = threading.Event()
    _end_on_signals(ended)
    if not settings.is_head and not _await_head(settings, ended):
        return True
    os.environ.update(ray_environment(Path(settings.token_file), head_s=_HEAD_S))
    if settings.copies:
        os.environ[COPIES_VARIABLE] = settings.copies  # workers inherit it
    node = _start(settings)
    _end_on_signals(ended)  # again: Ray's own would first wait for what is under way
    told = {"address": node.gcs_address, "node": node.node_id, "process": os.getpid()}
    state = state_file(Path(settings.folder))
    write_text(state, json.dumps(told) + "\n")
    try:
        while not ended.wait(_LOOK_S) and node.remaining_processes_alive():
            pass
    finally:
        state.unlink(missing_ok=True)
        node.kill_all_processes(check_alive=False, allow_graceful=ended.is_set())
    return ended.is_set()


def _end_on_signals(ended: threading.Event) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())


def _await_head(settings: NodeSettings, ended: threading.Event) -> bool:
    """Wait until the head listens; false where this node is asked to end first."""
    address = ClusterAddress(settings.head, Path(settings.token_file))
    while not head_answers(address):
        if ended.wait(_LOOK_S):
            return False
    return True


def _start(settings: NodeSettings) -> Any:
    from ray._private.node import Node
    from ray._private.parameter import RayParams

    parameters = RayParams(
        num_cpus=settings.cpus,
        num_gpus=settings.gpus,
        object_store_memory=settings.store_mb * MEBIBYTE,
        include_dashboard=False,
        no_monitor=True,
        include_log_monitor=False,  # type: ignore[arg-type]
        min_worker_port=0,
        max_worker_port=0,
        node_manager_port=0,
        temp_dir=settings.ray_folder or None,
        gcs_address=settings.head or None,
        gcs_server_port=settings.port or None,
    )
    parameters.dashboard_agent_listen_port = None

    class ClosedNode(Node):
        """A node without the server of the dashboard.

        It would run without pages too, and tell its makers over the network that it was asked to
        tell them nothing.
        """

        def start_api_server(self, **_: Any) -> None:
            """Start none."""
            self._webui_url = ""

    return ClosedNode(parameters, head=settings.is_head, shutdown_at_exit=True, spawn_reaper=True)


if __name__ == "__main__":
    own = read_node(sys.argv[1])
    if not run_node(own) and not own.is_head:
        # The head was lost. What Ray keeps in a process is of that head: begin anew, as the same
        # process, and join the head that comes back.
        again = [sys.executable, "-m", "tradingbot.cluster.node_process", *sys.argv[1:]]
        os.execv(sys.executable, again)  # noqa: S606 - no shell is wanted
