"""The examples run, stay short, and say that their bars are synthetic."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))
MOST_LINES = 30
SHORT = {"01_sma_cross_on_a_csv": "Sharpe [95 %]", "02_train_on_your_bars": "test Sharpe "}
"""Examples of at most twelve lines, and what they print."""


def lines_of(script: Path) -> list[str]:
    """Lines of code: not blank, not a comment, not the docstring of the file."""
    lines = script.read_text(encoding="utf-8").splitlines()[1:]
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def test_there_are_six_and_the_page_lists_them() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")

    assert len(SCRIPTS) == 6
    assert [script.name for script in SCRIPTS if f"]({script.name})" not in page] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example_is_short(script: Path) -> None:
    assert len(script.read_text(encoding="utf-8").splitlines()) < MOST_LINES
    if script.stem in SHORT:
        assert len(lines_of(script)) <= 12


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example_runs_and_says_that_it_is_synthetic(script: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:tradingbot", str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-2000:]
    assert "synthetic" in done.stdout
    assert SHORT.get(script.stem, "") in done.stdout
    if script.stem.startswith("01"):
        assert (tmp_path / "sma_cross.png").read_bytes().startswith(b"\x89PNG")
