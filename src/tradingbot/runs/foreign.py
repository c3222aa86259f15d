"""Formats that can run code or hide a bomb: refused by name and first bytes, never opened as such.

A pickle runs whatever it likes when it is loaded, and `.pt`, `.pkl`, `.ckpt` and the archives of
other libraries hold pickles. There is no setting that would load one.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NoReturn

from tradingbot.domain.errors import StorageError

_SUFFIXES = frozenset(
    (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".bin", ".joblib", ".npy", ".npz", ".h5", ".onnx")
)
_ARCHIVES = frozenset((".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar"))
_PACKED = (b"PK", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
_BEGINNINGS = {**dict.fromkeys(_PACKED, "an archive"), b"\x80": "a pickle"}


def foreign_format(path: Path) -> str | None:
    """Name the format of a file by its ending and first bytes; None where it is not foreign."""
    if path.suffix.lower() in _ARCHIVES:
        return f"an archive ({path.suffix})"
    if path.suffix.lower() in _SUFFIXES:
        return f"a {path.suffix} file"
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            beginning = file.read(9)
    except OSError as e:
        return f"a file that cannot be read ({e.strerror})"
    # A tensor file begins with a number, so with any byte, but its header is a JSON object.
    if path.suffix == ".safetensors" and beginning[8:] == b"{":
        return None
    return next((name for magic, name in _BEGINNINGS.items() if beginning.startswith(magic)), None)


def refuse_foreign(folder: Path) -> None:
    """Refuse a path that is no folder of plain files in our own formats.

    Raises:
        StorageError: Naming what it is instead.
    """
    try:
        mode = os.lstat(folder).st_mode
        if stat.S_ISREG(mode):
            _refuse(foreign_format(folder) or "a file", folder)
        if not stat.S_ISDIR(mode):
            _refuse("a link or a device", folder)
        for entry in sorted(folder.iterdir()):
            kind = foreign_format(entry)
            if kind is not None:
                _refuse(kind, entry)
    except OSError as e:
        _refuse(e.strerror or type(e).__name__, folder)


def _refuse(was: str, path: Path) -> NoReturn:
    rule = "checkpoint must be a folder of safetensors and a manifest"
    remedy = "Nothing else is loaded, for pickles and archives can run code"
    raise StorageError(rule, was=was, where=str(path), remedy=remedy)
