"""Files that are read whole: looked at before they are, so that none is endless or never answers.

A pipe without a writer never answers, a device such as /dev/zero never ends, and a file may be
larger than memory.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


class NotAFileError(OSError):
    """What is there is no regular file, or too large; `strerror` says what it is."""


def describe_path(path: Path) -> str:
    """Say what a path names: a file, a folder, a pipe, a device, a socket, nothing.

    Example:
        >>> describe_path(Path("/dev/null")), describe_path(Path("/")), describe_path(Path("/no"))
        ('a device', 'a folder', 'nothing')
    """
    try:
        return _kind(path.stat().st_mode)
    except FileNotFoundError:
        return "nothing"
    except (OSError, ValueError) as e:
        return (getattr(e, "strerror", None) or str(e)).lower()


def read_regular_file(path: Path, *, most_bytes: int) -> bytes:
    """Read a file whole, if it is a regular one of at most so many bytes.

    Raises:
        NotAFileError: If it is something else, or larger; nothing of it was read.
        OSError: If it is not there, or the disk refuses.
    """
    # Without waiting for a writer, should it be a pipe; what was opened is looked at, not the name.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise NotAFileError(None, _kind(found.st_mode), str(path))
        if found.st_size > most_bytes:
            was = f"{found.st_size:,} bytes, of at most {most_bytes:,}"
            raise NotAFileError(None, was, str(path))
        return file.read(most_bytes)


def _kind(mode: int) -> str:
    return next((words for is_one, words in _KINDS if is_one(mode)), "a file")
