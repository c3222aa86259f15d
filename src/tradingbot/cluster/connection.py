"""This process as a driver of a cluster: its address, its token, and nothing open by default."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tradingbot.cluster.token import read_token
from tradingbot.domain.errors import ConfigError, MissingExtraError

_HEAD_S = 600
"""Without a head after which Ray ends the process of a driver."""


@dataclass(frozen=True)
class ClusterAddress:
    """Where a cluster is, and what opens it."""

    head: str
    """HOST:PORT"""
    token_file: Path


def require_ray() -> None:
    """Refuse where Ray is not installed, without importing it.

    Raises:
        MissingExtraError: Naming the extra.
    """
    if sys.modules.get("ray", find_spec) is None or find_spec("ray") is None:
        raise MissingExtraError("cluster", package="ray")


def ray_environment(token_file: Path, head_s: int = _HEAD_S) -> dict[str, str]:
    """Return what Ray is told by the environment: which token opens it, and to call no host.

    The mode is always said: a Ray that is left to itself writes a token into the home folder,
    which later heads insist on.

    Args:
        token_file: Of the secret.
        head_s: Without a head after which Ray ends the process.
    """
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token_file),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DEDUP_LOGS": "0",
        "RAY_worker_niceness": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_gcs_rpc_server_reconnect_timeout_s": str(head_s),
    }


def head_answers(address: ClusterAddress, limit_s: float = 2.0) -> bool:
    """Tell whether a head listens; Ray itself would wait for it, and end this process at last."""
    host, _, port = address.head.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=limit_s).close()
    except OSError:
        return False
    return True


def head_identity(address: ClusterAddress, limit_s: float = 2.0) -> str | None:
    """Return what tells a head from one that was started after it; None where none says it.

    Ray ends the process that asks a new head about nodes by the connection to the old one.
    """
    try:
        return str(_knock(address, limit_s).cluster_id.hex())
    except Exception:  # Ray has no common base of what it refuses with
        return None


def is_connected() -> bool:
    """Tell whether this process is a driver."""
    if "ray" not in sys.modules:
        return False  # Ray reads who may talk to it when it is imported
    import ray

    return bool(ray.is_initialized())


def is_worker() -> bool:
    """Tell whether this process is a worker of a cluster, which does an item for a driver."""
    if not is_connected():
        return False
    import ray

    return ray.get_runtime_context().get_actor_id() is not None


def connect(address: ClusterAddress, limit_s: float = 5.0) -> None:
    """Become a driver.

    Args:
        address: Of the cluster.
        limit_s: Until a head that does not answer counts as absent.

    Raises:
        MissingExtraError: If Ray is not installed.
        ConfigError: If the token cannot be read, or the head does not answer or take it.
    """
    require_ray()
    read_token(address.token_file)
    if not head_answers(address, limit_s):
        raise _no_cluster(address, "nothing listens there")
    os.environ.update(ray_environment(address.token_file))
    import ray
    import ray._private.worker as driver
    from ray import _raylet

    native: Any = _raylet  # compiled; it has no types

    native.AuthenticationTokenLoader.instance().reset_cache()  # of a cluster before this one
    driver._worker_logs_enabled = False  # told on standard output; executors tell what is lost
    try:
        _knock(address, limit_s)  # `ray.init` would knock at a closed door for twenty seconds
        ray.init(
            address=address.head,
            log_to_driver=False,
            logging_level=logging.ERROR,
            configure_logging=False,
        )
    except Exception as e:  # Ray has no common base of what it refuses with
        raise _no_cluster(address, str(e).strip().partition("\n")[0][:120]) from e


@contextmanager
def connected(address: ClusterAddress) -> Iterator[None]:
    """Be a driver in the block.

    Raises:
        ConfigError: As `connect`.
    """
    connect(address)
    import ray

    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: ClusterAddress, limit_s: float) -> Any:
    """Return a client of a head, asked once; what Ray raises where it does not answer."""
    from ray import _raylet

    native: Any = _raylet  # compiled; it has no types
    return native.InnerGcsClient.standalone(address.head, None, round(1_000 * limit_s))


def _no_cluster(address: ClusterAddress, was: str) -> ConfigError:
    return ConfigError(
        "a cluster must answer and take the token",
        was=was,
        where=address.head,
        remedy="Start it with `tradingbot cluster start`, or look at --address and --token-file",
    )
