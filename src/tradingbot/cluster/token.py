"""The secret of a cluster: a file that its nodes and drivers read."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from tradingbot.data.atomic import storage_errors
from tradingbot.domain.errors import ConfigError

TOKEN_FILE = "token"  # noqa: S105 - of the file, not what is in it
_LONGEST = 4_096
_TOKEN = re.compile(rb"[!-~]{1,%d}" % _LONGEST)
"""What can be sent as it is."""


def read_token(path: Path, remedy: str = "") -> str:
    """Return the token of a file, which is never told.

    Args:
        path: Of the file.
        remedy: What a person does where it holds none; usually it is copied.

    Raises:
        ConfigError: If the file is not there, cannot be read, or holds something else.
    """
    usual = "Copy it from the folder cluster of the head's workspace, readable by you alone"
    if not path.is_file():
        rule = "the token of the cluster must be a file"
        raise ConfigError(rule, was="none", where=str(path), remedy=remedy or usual)
    try:
        with path.open("rb") as file:
            found = file.read(_LONGEST + 2).strip()
    except OSError as e:
        rule = "the token of the cluster must be readable"
        raise ConfigError(rule, was=e.strerror, where=str(path), remedy=remedy or usual) from e
    if not _TOKEN.fullmatch(found):
        raise ConfigError(
            f"the token of the cluster must be one word of ASCII, {_LONGEST:,} letters at most",
            was="other text or bytes" if found else "empty",
            where=str(path),
            remedy=remedy or usual,
        )
    return found.decode("ascii")


def own_token(folder: Path, given: str) -> Path:
    """Return the file of a folder's token: a copy of that given, or drawn where there is none.

    Raises:
        ConfigError: If what is given, or there, is no token.
        StorageError: If the disk refuses.
    """
    path = folder / TOKEN_FILE
    with storage_errors(path):
        if given and not (path.exists() and path.samefile(given)):
            token = read_token(Path(given))
            path.unlink(missing_ok=True)
        elif path.exists():
            read_token(path, "Delete it: another is drawn" if not given else "")
            return path
        else:
            token = secrets.token_hex(32)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(token)
    return path
