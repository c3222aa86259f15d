"""Facts about machine and sources that a run's record keeps; results do not depend on them."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from pathlib import Path

import numpy as np

from tradingbot.runs.record import GitState

_PACKAGE = Path(__file__).resolve().parents[1]
RESULT_PACKAGES = (
    *("domain", "data", "features", "risk", "market", "rewards"),
    *("networks", "learning", "envs", "agents", "supervised"),
)
"""Packages whose sources can move a result; commands, pages and files cannot."""
_GIT_TIMEOUT_S = 10


def describe_environment(device: str = "cpu") -> dict[str, str | int]:
    """Say on what a run runs."""
    import torch

    facts: dict[str, str | int] = {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "platform": platform.platform(),
        "cpu": _cpu_name(),
        "cpus": os.cpu_count() or 0,
        "threads": torch.get_num_threads(),
        "device": device,
    }
    if device.startswith("cuda") and torch.cuda.is_available():
        facts["gpu"] = torch.cuda.get_device_name(device)
    return facts


def source_sha256(package: Path = _PACKAGE) -> str:
    """Hash the sources that can move a result."""
    digest = hashlib.sha256()
    for name in RESULT_PACKAGES:
        for path in sorted((package / name).rglob("*.py")):
            digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def git_state(folder: Path = _PACKAGE) -> GitState:
    """Say which commit the sources are of; nothing where they are not under version control."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return GitState()
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return GitState(commit=commit, dirty=None if changes is None else bool(changes))


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],  # noqa: S607 - wherever git is installed
            capture_output=True,
            text=True,
            timeout=_GIT_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
