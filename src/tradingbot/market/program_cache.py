"""The folder of compiled programs: it belongs to the user, and no other user can write into it.

What lies there is executed. A folder that others may write to, that belongs to someone else or that
is a link is refused, and a fresh one that lives as long as the process is used instead.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import warnings
from functools import cache
from pathlib import Path

CACHE_VARIABLE = "TRADINGBOT_CACHE_DIR"


def cache_folder() -> Path:
    """Return the folder for compiled programs, mode 0700; made if it is not there.

    `TRADINGBOT_CACHE_DIR` names it; by default it is `tradingbot` in the user's cache.

    Warns:
        RuntimeWarning: If it is not private to the user: then nothing in it is read, and programs
            are compiled in a folder of this process alone.
    """
    folder = named_folder()
    fault = folder_fault(folder)
    if fault is None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.chmod(0o700)
        except OSError as e:
            fault = f"cannot be made or closed to others ({e.strerror})"
        else:
            # Once more: what was not there a moment ago may have been put there since.
            fault = folder_fault(folder)
    if fault is None:
        return folder
    return _own_folder(str(folder), fault)


def keep_torch_programs() -> None:
    """Let torch keep what it compiles in the same folder, unless the user named another."""
    for variable, name in (("TORCHINDUCTOR_CACHE_DIR", "inductor"), ("TRITON_CACHE_DIR", "triton")):
        if not os.environ.get(variable):
            folder = cache_folder() / name
            folder.mkdir(exist_ok=True, mode=0o700)
            os.environ[variable] = str(folder)


def named_folder() -> Path:
    """Return where compiled programs are meant to lie."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tradingbot"


def folder_fault(folder: Path) -> str | None:
    """Say why a folder's programs must not be executed; None where it is private or not there."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return None
    except OSError as e:
        return f"cannot be looked at ({e.strerror})"
    if not stat.S_ISDIR(found.st_mode):
        return "is not a folder, or a link to one"
    return _owner_fault(found)


def is_trusted(file: Path) -> bool:
    """Tell whether a file is a plain one that only the user could have written."""
    found = file.lstat()
    return stat.S_ISREG(found.st_mode) and _owner_fault(found) is None


def _owner_fault(found: os.stat_result) -> str | None:
    if found.st_uid != os.geteuid():
        return f"belongs to user {found.st_uid}"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"may be written by others (mode {stat.S_IMODE(found.st_mode):04o})"
    return None


@cache
def _own_folder(refused: str, fault: str) -> Path:
    """Make a folder that goes with the process."""
    warnings.warn(
        f"Compiled programs are not kept: {refused} {fault}. Remove it, or set {CACHE_VARIABLE} to "
        "a folder of your own with mode 0700.",
        RuntimeWarning,
        stacklevel=4,
    )
    folder = tempfile.mkdtemp(prefix="tradingbot-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
