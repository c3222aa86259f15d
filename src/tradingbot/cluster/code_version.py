"""What a process computes with: its own sources and the packages below them."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tradingbot.runs.requirement import installed_version

_PACKAGE = Path(__file__).resolve().parents[1]
_PACKAGES = ("numpy", "torch", "polars", "ray")
"""Another version of these may round, draw or send otherwise."""


class CodeVersion(NamedTuple):
    """Two processes whose versions are equal compute the same bits from the same arguments."""

    sources_sha256: str
    """Of every source file of this package."""
    python: str
    packages: tuple[tuple[str, str | None], ...]

    def differences(self, other: CodeVersion) -> str:
        """Say what is not equal, this one's value first; empty where all is."""
        ours, theirs = _values(self), _values(other)
        unequal = (name for name in ours if ours[name] != theirs.get(name))
        return "; ".join(f"{name} {ours[name]}, not {theirs.get(name)}" for name in unequal)


def _values(version: CodeVersion) -> dict[str, str | None]:
    own = {"sources": version.sources_sha256[:12], "python": version.python}
    return own | dict(version.packages)


@cache
def code_version(package: Path = _PACKAGE) -> CodeVersion:
    """Return the version of this process; files are read once."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    versions = tuple((name, installed_version(name)) for name in _PACKAGES)
    return CodeVersion(digest.hexdigest(), platform.python_version(), versions)
