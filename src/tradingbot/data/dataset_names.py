"""Names of datasets: what can be one, and the file that points from a name to a hash."""

from __future__ import annotations

import re
from pathlib import Path

from tradingbot.data.regular_files import read_regular_file
from tradingbot.domain.errors import DataError, StorageError

DATASET_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_DIGITS = 16
_MOST_POINTER_BYTES = 1_000


def pointed_at(named: Path) -> str:
    """Return the id that a name points to.

    Raises:
        StorageError: If the file holds none.
    """
    try:
        text = read_regular_file(named, most_bytes=_MOST_POINTER_BYTES)
        return text.decode("ascii").strip()[:_DIGITS]
    except (OSError, UnicodeDecodeError) as e:
        was = "no text" if isinstance(e, UnicodeDecodeError) else e.strerror
        rule, remedy = "name of a dataset must hold its hash", "Delete that file and import again"
        raise StorageError(rule, was=was, where=str(named), remedy=remedy) from e


def require_name(name: str) -> str:
    """Return `name` if a dataset may be called so."""
    if not DATASET_NAME.fullmatch(name):
        raise DataError(
            "dataset name must be 1-64 of a-z 0-9 . _ - and start with a letter or digit",
            was=repr(name[:70]),
            remedy="Choose e.g. us143",
        )
    return name
