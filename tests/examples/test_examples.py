"""The examples run, stay short, and say that their bars are synthetic."""

from __future__ import annotations

import contextlib
import io
import runpy
import subprocess
import sys
import warnings
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


def run_in_a_process_of_its_own(script: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:tradingbot", str(script)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def run_here(script: Path) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), warnings.catch_warnings():
        warnings.filterwarnings("error", category=DeprecationWarning, module="tradingbot")
        runpy.run_path(str(script), run_name="__main__")
    return said.getvalue()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example_runs_and_says_that_it_is_synthetic(
    script: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    clean_plugins: None,
    short_work: None,
) -> None:
    monkeypatch.chdir(tmp_path)
    # One shows that nothing but the package is needed; the others need not import it all again.
    is_first = script == SCRIPTS[0]

    said = run_in_a_process_of_its_own(script) if is_first else run_here(script)

    assert "synthetic" in said
    assert SHORT.get(script.stem, "") in said
    if is_first:
        assert (tmp_path / "sma_cross.png").read_bytes().startswith(b"\x89PNG")
