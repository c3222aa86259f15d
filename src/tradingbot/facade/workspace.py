"""Where datasets, panels and runs are kept: a folder of the caller's, or a temporary one."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from tradingbot.plugins.loading import load_installed


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tradingbot-")


def open_workspace(folder: str | Path | None) -> Path:
    """Return the folder to work in; without one, a folder that is gone when the process ends."""
    load_installed()
    return Path(_temporary().name) if folder is None else Path(folder).expanduser()
