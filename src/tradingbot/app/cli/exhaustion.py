"""What ends a command without being a bug: memory, depth, size, and a disk that refuses."""

from __future__ import annotations

import errno
import re

from tradingbot.domain.errors import StorageError, UserError

_NO_MEMORY = re.compile(
    r"can't allocate memory|not enough memory|out of memory|cannot allocate memory"
    r"|unable to allocate|storage size calculation overflowed|array is too big"
    r"|maximum allowed dimension exceeded",
    re.IGNORECASE,
)
"""What torch and NumPy say, in errors of several classes."""
_LONGEST_SHOWN = 120


def describe_exhaustion(error: Exception) -> UserError | None:
    """Say rule, value, place and remedy of an error that the machine or the input explains.

    Args:
        error: What ended a command.

    Returns:
        None for anything else, which is a bug.
    """
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError) or _NO_MEMORY.search(text):
        rule = "the work must fit into memory"
        remedy = "Take fewer symbols, bars or environments, or smaller settings; --debug says where"
        return UserError(rule, was=text[:_LONGEST_SHOWN] or "more", remedy=remedy)
    if isinstance(error, RecursionError):
        rule = "input must not be nested so deeply"
        return UserError(rule, was="too deep", remedy="Write it flatter; --debug says where")
    if isinstance(error, OverflowError):
        rule = "a number must be of a size that can be computed with"
        remedy = "Give a smaller one; --debug says where"
        return UserError(rule, was=text[:_LONGEST_SHOWN], remedy=remedy)
    if isinstance(error, OSError) and error.filename is not None and error.errno is not None:
        return _of_disk(error)
    return None


def _of_disk(error: OSError) -> UserError:
    name = str(error.filename)
    if error.errno == errno.ENAMETOOLONG:
        rule, was = "a name must be short enough for the disk", f"{len(name)} characters"
        return UserError(rule, was=was, where=f"{name[:40]}…", remedy="Choose a shorter one")
    was, remedy = (error.strerror or "refused").lower(), "See that it exists and may be used"
    rule, where = "a file must be usable", name[-_LONGEST_SHOWN:]
    return StorageError(rule, was=was, where=where, remedy=remedy)
