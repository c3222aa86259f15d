"""Pointers of a workspace in an object store: which contents the files of a unit have."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePosixPath

from tradingbot.domain.errors import StorageError

KEPT_HERE = ("cluster", "served")
"""Folders of a workspace that are never published: the token of a cluster, keys of servers."""
_FORMAT = 1


def pointer_name(unit: str) -> str:
    """Return where the pointer of a unit is in a store."""
    return f"pointers/{unit}.json"


def unit_of(name: str) -> str:
    """Return the unit of a pointer's name."""
    return name.removeprefix("pointers/").removesuffix(".json")


def content_hash(content: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def write_pointer(files: Mapping[str, tuple[str, int]]) -> bytes:
    """Return the pointer to files: path → hash and size."""
    return json.dumps({"format": _FORMAT, "files": files}, sort_keys=True).encode()


def read_pointer(text: bytes, shown: str, unit: str) -> dict[str, str]:
    """Return path → hash; a path that leads out of the workspace is refused."""
    try:
        files = {str(name): str(entry[0]) for name, entry in json.loads(text)["files"].items()}
    except (ValueError, KeyError, TypeError, IndexError) as e:
        rule = "a pointer of a workspace must be readable"
        raise StorageError(rule, was="damaged", where=f"{shown}/{pointer_name(unit)}") from e
    for name in files:
        parts = PurePosixPath(name).parts
        is_own = bool(parts) and "/".join(parts) == name and "/".join(parts[:2]) == unit
        if not is_own or ".." in parts or parts[0] in KEPT_HERE:
            rule = "a pointer must name files of its unit"
            raise StorageError(rule, was=repr(name[:80]), where=f"{shown}/{pointer_name(unit)}")
    return files
