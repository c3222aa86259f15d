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

from tradingbot.cluster.connection import ray_environment
from tradingbot.cluster.node_settings import MEBIBYTE, NodeSettings, read_node, state_file
from tradingbot.data.atomic import write_text

_HEAD_S = 20
"""Without a head after which a node gives up what it does."""


def run_node(settings: NodeSettings) -> None:
    """Be a node until SIGTERM or SIGINT, or until a process of Ray ends."""
    ended = threading.Event()
    os.environ.update(ray_environment(Path(settings.token_file), head_s=_HEAD_S))
    node = _start(settings)
    for number in (signal.SIGTERM, signal.SIGINT):  # Ray would first wait for what is under way
        signal.signal(number, lambda *_: ended.set())
    folder = Path(settings.folder)
    told = {"address": node.gcs_address, "process": os.getpid(), "node": node.node_id}
    write_text(state_file(folder), json.dumps(told) + "\n")
    try:
        while not ended.wait(0.5) and node.remaining_processes_alive():
            pass
    finally:
        state_file(folder).unlink(missing_ok=True)
        node.kill_all_processes(check_alive=False, allow_graceful=True)


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
        # A node that joins takes the head's folder of that name, wherever it is.
        temp_dir=str(Path(settings.folder) / "ray") if settings.is_head else None,
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
    run_node(read_node(sys.argv[1]))
