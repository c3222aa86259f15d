"""C made of the simulator: compiled once, kept on disk, loaded where the same is asked for."""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from threading import Thread, current_thread

import torch

import tradingbot
from tradingbot.domain.errors import ConfigError
from tradingbot.market.native.lane_program import Unwritable
from tradingbot.market.program_cache import cache_folder, is_trusted

# No option that changes results: contractions would round once where tensors round twice. Every
# statement is written once: a search for redundant ones takes a fifth of the time and finds none.
_FLAGS = (
    *("-march=native", "-std=gnu11", "-fPIC", "-shared", "-fno-tree-pre", "-fno-gcse"),
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
)
OPTIMISATION_VARIABLE = "TRADINGBOT_OPTIMISATION"
_LEVELS = ("0", "1", "2", "3")
_AT_WORK: dict[subprocess.Popen[bytes], Thread] = {}
"""Compilers, and the threads that wait for them."""
_COMPILERS = (os.environ.get("CC"), "cc", "gcc", "clang")


def find_compiler() -> str | None:
    """Return the C compiler of this machine; None where there is none."""
    return next((found for name in _COMPILERS if name and (found := shutil.which(name))), None)


def optimisation() -> str:
    """Return the compiler's level: 3 (the fastest programs), or what the user set.

    Results do not depend on it. Level 1 compiles in a third of the time and runs half as fast.

    Raises:
        ConfigError: If the level is none of 0 … 3.
    """
    level = os.environ.get(OPTIMISATION_VARIABLE) or _LEVELS[-1]
    if level not in _LEVELS:
        raise ConfigError(
            "the C compiler's level must be 0, 1, 2 or 3",
            was=level,
            where=f"environment variable {OPTIMISATION_VARIABLE}",
            remedy="Unset it for the fastest programs, or set 1 for programs compiled sooner",
        )
    return f"-O{level}"


def load_library(
    identity: str, write: Callable[[], str], *, if_there: bool = False
) -> ctypes.CDLL | None:
    """Return a compiled program; None where there is no C compiler, or no C for it.

    The first call takes some seconds, others nothing; another process finds the program on disk,
    in a folder that only the user can write to, with its checksum.

    Args:
        identity: What the source follows from, so that it need not be written to be found; empty
            where that cannot be told.
        write: Writes the C.
        if_there: Nothing is compiled: there is none unless it is on disk.
    """
    compiler, flags = find_compiler(), (optimisation(), *_FLAGS)
    if compiler is None:
        return None
    try:
        source = None if identity else write()
        parts = (identity or source, torch.__version__, compiler, flags, _processor())
        name = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
        library = cache_folder() / f"lanes-{name}.so"
        if not _is_whole(library):
            if if_there:
                return None
            _compile((compiler, *flags), source or write(), library)
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


@cache
def _processor() -> str:
    """Say what `-march=native` means here: a home folder may be shared by different machines."""
    path, wanted = Path("/proc/cpuinfo"), ("model name", "flags", "Features")
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    first = dict.fromkeys(line for line in lines if line.startswith(wanted))
    return "\n".join((platform.machine(), platform.processor(), *first))


def _compile(command: Sequence[str], source: str, library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        code, made = Path(folder) / "lanes.c", Path(folder) / "lanes.so"
        code.write_text(source, encoding="utf-8")
        _run_compiler([*command, str(code), "-o", str(made), "-lm", "-lpthread"])
        made.chmod(0o700)
        checksum = hashlib.sha256(made.read_bytes()).hexdigest()
        made.replace(library)  # another process may compile the same
        noted = Path(folder) / "lanes.sha256"
        noted.write_text(checksum, encoding="ascii")
        noted.chmod(0o600)
        noted.replace(_checksum_of(library))


def _run_compiler(command: Sequence[str]) -> None:
    nothing = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing) as compiler:
        _AT_WORK[compiler] = current_thread()
        try:
            if compiler.wait(timeout=300):
                raise subprocess.CalledProcessError(compiler.returncode, command)
        finally:
            compiler.kill()
            del _AT_WORK[compiler]


@atexit.register
def _stop_compilers() -> None:
    """Leave no compiler, and nothing half made, behind a process that ends."""
    for compiler, thread in [*_AT_WORK.items()]:
        compiler.kill()
        if thread is not current_thread():
            thread.join(timeout=5)


def _is_whole(library: Path) -> bool:
    """Tell whether a program is there as the user made it: a torn one would end the process."""
    checksum = _checksum_of(library)
    try:
        if not (is_trusted(library) and is_trusted(checksum)):
            return False
        noted = checksum.read_text(encoding="ascii")
        return noted == hashlib.sha256(library.read_bytes()).hexdigest()
    except (OSError, UnicodeDecodeError):
        return False


def _checksum_of(library: Path) -> Path:
    return library.with_suffix(".sha256")
