"""C made of the simulator: compiled once, kept on disk, loaded by whoever asks for the same."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch

import tradingbot
from tradingbot.market.lane_program import Unwritable

CACHE_VARIABLE = "TRADINGBOT_CACHE_DIR"
MACROS = """\
#include <math.h>
#include <stdint.h>
#define ABSOLUTE(x) ((x) < 0 ? -(x) : (x) + 0)
#define SIGN(x) (((x) > 0) - ((x) < 0))
#define LOWER(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define HIGHER(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define AT_LEAST(x, low) ((x) < (low) ? (low) : (x))
#define AT_MOST(x, high) ((x) > (high) ? (high) : (x))
"""
"""What the statements of a `lane_program` ask for."""
# No option that changes results: contractions would round once where tensors round twice.
_FLAGS = ("-O2", "-fPIC", "-shared", "-std=c11", "-ffp-contract=off", "-fno-math-errno")
_COMPILERS = (os.environ.get("CC"), "cc", "gcc", "clang")


def load_library(identity: str, write: Callable[[], str]) -> ctypes.CDLL | None:
    """Return a compiled program; None where there is no C compiler, or no C for it.

    The first call takes some seconds, others nothing; another process finds the program on disk.

    Args:
        identity: What the source follows from, so that it need not be written to be found; empty
            where that cannot be told.
        write: Writes the C.
    """
    compiler = next((found for name in _COMPILERS if name and (found := shutil.which(name))), None)
    if compiler is None:
        return None
    try:
        source = None if identity else write()
        text = repr((identity or source, torch.__version__, compiler, _FLAGS))
        name = hashlib.sha256(text.encode()).hexdigest()[:32]
        library = _cache_folder() / f"lanes-{name}.so"
        if not _is_whole(library):
            _compile(compiler, source or write(), library)
        return ctypes.CDLL(str(library))
    except (OSError, subprocess.SubprocessError, Unwritable):
        return None


@cache
def code_sha256(*parts: str) -> str:
    """Hash files and folders of the package: changed code is another program."""
    root, digest = Path(tradingbot.__file__).parent, hashlib.sha256()
    for part in parts:
        path = root / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _compile(compiler: str, source: str, library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        code, made = Path(folder) / "lanes.c", Path(folder) / "lanes.so"
        code.write_text(source)
        subprocess.run(
            [compiler, *_FLAGS, str(code), "-o", str(made), "-lm"],
            check=True,
            capture_output=True,
            timeout=300,
        )
        checksum = hashlib.sha256(made.read_bytes()).hexdigest()
        made.replace(library)  # whoever else compiles the same
        noted = Path(folder) / "lanes.sha256"
        noted.write_text(checksum)
        noted.replace(_checksum_of(library))


def _is_whole(library: Path) -> bool:
    """Tell whether a program is there as it was made: loading a torn one would end the process."""
    try:
        noted = _checksum_of(library).read_text()
        return noted == hashlib.sha256(library.read_bytes()).hexdigest()
    except OSError:
        return False


def _checksum_of(library: Path) -> Path:
    return library.with_suffix(".sha256")


def _cache_folder() -> Path:
    chosen = os.environ.get(CACHE_VARIABLE)
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tradingbot"
    folder = Path(chosen) if chosen else usual
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder
