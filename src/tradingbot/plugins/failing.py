"""Errors in a user's own code as one line with its file and line, not as a bug of the package."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import TracebackType

from tradingbot.domain.errors import ConfigError, UserError

_PACKAGE = Path(__file__).resolve().parents[1]


def plugin_error(rule: str, error: BaseException, file: str | None = None) -> UserError:
    """Say what failed in a plugin, and at which line of it.

    Args:
        rule: What must hold, e.g. "a plugin must be importable".
        error: What it raised.
        file: Where the plugin is; by default the last frame outside this package is named.
    """
    if isinstance(error, SyntaxError) and error.lineno is not None:
        where, text = f"{error.filename}:{error.lineno}", error.msg
    else:
        where = place_of(error.__traceback__, file) or file or ""
        text = error.rule if isinstance(error, UserError) else str(error)
        if isinstance(error, UserError) and error.was is not None:
            text += f", was {error.was}"
    name = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
    return ConfigError(
        rule,
        was=f"{name}{' '.join(text.split())[:200]}",
        where=where,
        remedy=error.remedy if isinstance(error, UserError) else "--debug shows the traceback",
    )


def place_of(tb: TracebackType | None, file: str | None = None) -> str:
    """Return `file:line` of the innermost frame in a file, or outside this package."""
    found = ""
    for frame in traceback.extract_tb(tb):
        inside = _PACKAGE in Path(frame.filename).resolve().parents
        is_code = not frame.filename.startswith("<")
        if frame.filename == file or (file is None and not inside and is_code):
            found = f"{frame.filename}:{frame.lineno}"
    return found
