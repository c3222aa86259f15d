"""What a process computes with: its own files and the packages below them."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tradingbot.runs.requirement import installed_version

_PACKAGE = Path(__file__).resolve().parents[1]
_BENCHMARKS = "tradingbot_benchmarks"
"""Comes with the same distribution; workers judge markets by it."""
_PACKAGES = (
    *("numpy", "scipy", "pandas", "polars", "pyarrow", "exchange_calendars"),
    *("torch", "gymnasium", "stable-baselines3", "sb3-contrib"),
    *("scikit-learn", "skfolio", "lightgbm", "optuna", "ray"),
)
"""Another version of these, or none, may round, draw, choose or send otherwise."""


class CodeVersion(NamedTuple):
    """Two processes whose versions are equal compute the same bits from the same arguments."""

    sources_sha256: str
    """Of every file of this package: code, presets, universes, templates, tables."""
    benchmarks_sha256: str | None
    """The same of the benchmarks; None where they are not installed."""
    python: str
    packages: tuple[tuple[str, str | None], ...]
    """Name and version; None where it is not installed."""

    def differences(self, other: CodeVersion) -> str:
        """Say what is not equal, this one's value first; empty where all is."""
        ours, theirs = _values(self), _values(other)
        unequal = (name for name in ours if ours[name] != theirs.get(name))
        return "; ".join(f"{name} {ours[name]}, not {theirs.get(name)}" for name in unequal)


def _values(version: CodeVersion) -> dict[str, str | None]:
    own = {
        "sources": version.sources_sha256,
        "benchmarks": version.benchmarks_sha256,
        "python": version.python,
    }
    return own | dict(version.packages)


@cache
def code_version(package: Path = _PACKAGE) -> CodeVersion:
    """Return the version of this process; files are read once."""
    found = find_spec(_BENCHMARKS)
    places = (found.submodule_search_locations if found else None) or ()
    benchmarks = [files_sha256(Path(place)) for place in places]
    versions = tuple((name, installed_version(name)) for name in _PACKAGES)
    return CodeVersion(
        files_sha256(package),
        " ".join(benchmarks) or None,
        platform.python_version(),
        versions,
    )


def files_sha256(package: Path) -> str:
    """Hash names and content of all files of a package.

    All, not some kinds: a preset or a universe moves a result as code does, and a kind of file that
    comes later is not forgotten.
    """
    digest = hashlib.sha256()
    for path in sorted(_shipped(package)):
        digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _shipped(package: Path) -> Iterator[Path]:
    """Yield what an installation has; compiled and hidden files are of one machine alone."""
    for path in package.rglob("*"):
        parts = path.relative_to(package).parts
        if path.is_file() and not any(part[0] == "." or part == "__pycache__" for part in parts):
            yield path
