"""What was started from a folder: written down, so that it is ended, and nothing else is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tradingbot.cluster.processes import is_same
from tradingbot.data.atomic import write_text
from tradingbot.domain.errors import ConfigError

RAY_FOLDER_PREFIX = "tb-ray-"
_NODES_FILE = "nodes.json"
_NAME = re.compile(r"node-[0-9]+")
_HEAD = re.compile(r"|[^\s:]+:[0-9]{1,5}")
_KINDS = {"str": str, "int": int, "bool": bool}


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
    """Return the nodes that were started and not stopped, the dead among them too.

    Raises:
        ConfigError: If the file that lists them is damaged or cannot be read.
    """
    path = folder / _NODES_FILE
    if not path.exists():
        return []
    try:
        return [_node(each) for each in json.loads(path.read_bytes())]
    except (OSError, ValueError, TypeError) as e:  # unreadable, no JSON, other fields or values
        raise ConfigError(
            "the list of nodes that were started here must be as it was written",
            was=str(e) or "damaged",
            where=str(path),
            remedy="End what it lists by hand (ps -ef shows tradingbot.cluster.node_process), "
            "then delete it",
        ) from e


def write_nodes(folder: Path, nodes: Sequence[StartedNode]) -> None:
    """Write down which nodes were started."""
    text = json.dumps([asdict(node) for node in nodes], indent=2)
    write_text(folder / _NODES_FILE, text + "\n")


def forget_nodes(folder: Path) -> None:
    """Write down that there are none."""
    (folder / _NODES_FILE).unlink(missing_ok=True)


def _node(found: object) -> StartedNode:
    """Return a node of the file; processes are ended and folders removed by what stands there."""
    if not isinstance(found, dict):
        raise TypeError("not a list of nodes")
    node = StartedNode(**found)
    for field in fields(node):
        if type(getattr(node, field.name)) is not _KINDS[str(field.type)]:
            raise TypeError(f"{field.name}: {getattr(node, field.name)!r}")
    known = {
        "name": _NAME.fullmatch(node.name),
        "process": node.process > 1,
        "head": _HEAD.fullmatch(node.head),
        "ray_folder": not node.ray_folder
        or Path(node.ray_folder).name.startswith(RAY_FOLDER_PREFIX),
    }
    for name, is_possible in known.items():
        if not is_possible:
            raise ValueError(f"{name}: {getattr(node, name)!r}")
    return node
