"""Other Pythons: every file compiles, and what needs no tensors is imported and used.

The environment of the tests is of one Python. Of the others that are on this machine only the
interpreter is used: torch, numpy and polars are not installed for them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.11", "3.12", "3.13")
PYENV = Path.home() / ".pyenv" / "versions"
LIGHT = """
import sys
sys.path.insert(0, {source!r})
import tradingbot as tb
from tradingbot.domain import action, checks, denial, errors, extension, seeding, symbol, universe
from tradingbot.plugins.reference import read_reference

@tb.strategy(warm_up_bars="slow")
def mine(view, *, slow: int = 5):
    return 0.0

assert "mine" in extension.extensions("strategy")
assert read_reference("mine:slow=7").parameters == {{"slow": 7}}
assert set(tb.__all__) <= set(dir(tb))
print(sys.version_info[:2])
"""


def interpreter(version: str) -> str:
    """Find an interpreter that runs, or skip."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    candidates = [*sorted(PYENV.glob(f"{version}.*/bin/python")), shutil.which(f"python{version}")]
    for candidate in candidates:
        if candidate is None:
            continue
        done = subprocess.run(
            [str(candidate), "-c", "import sys; print(sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.stdout.strip() == f"({version.replace('.', ', ')})":
            return str(candidate)
    pytest.skip(f"there is no Python {version} on this machine")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_file_compiles(version: str) -> None:
    code = (
        "import pathlib, sys, warnings\n"
        "warnings.simplefilter('error')\n"
        "for root in sys.argv[1:]:\n"
        "    for path in sorted(pathlib.Path(root).rglob('*.py')):\n"
        "        compile(path.read_text(encoding='utf-8'), str(path), 'exec')\n"
    )
    folders = [str(ROOT / name) for name in ("src", "benchmarks", "tests", "examples")]

    done = subprocess.run(
        [interpreter(version), "-c", code, *folders], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr[-1000:]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_needs_no_tensors_runs(version: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    found = interpreter(version)
    code = LIGHT.format(source=str(ROOT / "src"))
    if found != sys.executable:
        code = re.sub(r", seeding", "", code)  # draws are numpy's

    done = subprocess.run(
        [found, "-c", code], env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr[-1000:]
    assert done.stdout.strip() == f"({version.replace('.', ', ')})"


def test_project_accepts_these_versions_and_targets_the_oldest() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert project["project"]["requires-python"] == ">=3.11,<3.14"
    assert project["tool"]["ruff"]["target-version"] == "py311"
    assert project["tool"]["mypy"]["python_version"] == "3.11"
    picked = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"python{version}" in picked for version in VERSIONS)
