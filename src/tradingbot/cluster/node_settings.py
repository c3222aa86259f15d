"""What a node of a cluster is started with; plain values, handed to its process as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tradingbot.domain.checks import CheckedFields, bounded

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class NodeSettings(CheckedFields):
    """A node: a head that others join, or one that joins."""

    folder: str
    """Where it says that it is up, and where."""
    token_file: str
    """Holds the secret without which nothing may talk to the cluster."""
    ray_folder: str = ""
    """Where Ray keeps sockets and logs, with a short path; empty for a node that joins: it takes
    the head's."""
    head: str = ""
    """Address of the head, HOST:PORT; empty: this node is one."""
    port: int = bounded(0, "[0, 65535]")
    """On which a head listens; 0: any that is free."""
    cpus: int = bounded(1, ">= 1")
    """Items that are done at once."""
    gpus: int = bounded(0, ">= 0")
    """Accelerators that Ray may hand out."""
    store_mb: int = bounded(128, ">= 80")
    """Mebibytes of memory for what workers of the node share."""
    copies: str = ""
    """Folder on the node's own disk for copies of panels; empty: they are read where they are."""

    @property
    def is_head(self) -> bool:
        """Tell whether others join it."""
        return not self.head

    def as_text(self) -> str:
        """Write it for `read_node`."""
        return json.dumps(asdict(self))


def read_node(text: str) -> NodeSettings:
    """Read what `NodeSettings.as_text` wrote.

    Raises:
        ConfigError: If a value lies outside its bounds.
    """
    return NodeSettings(**json.loads(text))


def state_file(folder: Path) -> Path:
    """Return the file in which a node says that it is up, and where."""
    return folder / "node.json"
