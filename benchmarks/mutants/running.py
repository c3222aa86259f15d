"""Running pytest inside a process that is forked for it, without a word on the screen."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")  # noqa: S108 - a file system in memory: tests wait for disks otherwise
_MOST_BYTES = 1 << 30
_WAITING, _WAITING_S = 4.0, 60.0
"""A process may take so many times as long as it may compute, and so many seconds more."""
_DAY_S = 86_400.0
_MOST_SAID = 60_000  # a pipe holds it without a reader
_PLAIN = (
    *("-q", "-s", "-m", "not slow", "-p", "no:cacheprovider", "--rootdir", "."),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # plugins are loaded before the fork
)


def run_pytest(arguments: list[str], plugin: object) -> int:
    """Run tests with a plugin, the same examples every time."""
    import hypothesis

    hypothesis.settings.register_profile("mutation", derandomize=True, database=None, deadline=None)
    hypothesis.settings.load_profile("mutation")
    return int(pytest.main([*_PLAIN, *arguments], plugins=[plugin]))


class Child:
    """A forked process that does one thing in folders of its own and may say something."""

    def __init__(
        self, do: Callable[[Callable[[str], None]], int], *, cpu_s: float | None = None
    ) -> None:
        """Fork; `do` gets a function that tells the parent a text, and returns the exit status.

        A child that has computed for `cpu_s` seconds is stopped: other programs on the machine
        take no time from it. One that waits for ever is stopped too, only much later.
        """
        parent = str(_MEMORY) if _MEMORY.is_dir() else None
        self._folder = tempfile.mkdtemp(prefix="mutant-", dir=parent)
        self._heard, said = os.pipe()
        self._began = time.monotonic()
        self._wait_s = _DAY_S if cpu_s is None else _WAITING_S + _WAITING * cpu_s
        self.pid = os.fork()
        if self.pid:
            os.close(said)
            return
        status = 70
        try:
            os.setsid()
            _settle(self._folder)
            if cpu_s is not None:
                most = math.ceil(cpu_s)
                resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
            status = do(lambda text: _tell(said, text))
        except BaseException as e:  # whatever it is, the parent's program must not go on here
            _tell(said, repr(e)[:500])
        finally:
            os._exit(status)

    def wait(self) -> tuple[int | None, str]:
        """Return the exit status (None where it was stopped) and what it said."""
        status = None
        pause = 0.002
        while time.monotonic() - self._began < self._wait_s:
            pid, code = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                status = os.waitstatus_to_exitcode(code)
                break
            time.sleep(pause)
            pause = min(pause * 1.2, 0.05)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # the child, or what it left running
        if status is None:
            os.waitpid(self.pid, 0)
        with os.fdopen(self._heard, "rb") as pipe:
            os.set_blocking(pipe.fileno(), False)
            said = (pipe.read() or b"").decode(errors="replace")
        shutil.rmtree(self._folder, ignore_errors=True)
        return (None if status == -signal.SIGXCPU else status), said


def _tell(pipe: int, text: str) -> None:
    os.write(pipe, text.encode()[:_MOST_SAID])


def _settle(folder: str) -> None:
    """Give the process its own temporary files and programs, a limit to files, and silence."""
    for variable in ("TMPDIR", "PYTEST_DEBUG_TEMPROOT"):
        os.environ[variable] = folder
    os.environ["TRADINGBOT_CACHE_DIR"] = os.path.join(folder, "programs")
    tempfile.tempdir = None
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_BYTES, _MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
