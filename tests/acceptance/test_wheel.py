"""The wheel works outside the clone: presets, templates, universes and the façade are inside.

Heavy dependencies are those of this environment, by a path file: nothing is downloaded. The clone
is not importable there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("src", "benchmarks", "pyproject.toml", "README.md", "LICENSE")
COMMANDS = {
    ("config", "list"): "crypto12",
    ("universe", "list"): "us143",
    ("demo", "--help"): "--market",
    ("gates", "--print"): "final",
    ("market", "list"): "planted",
    ("bench", "--help"): "simulator",
    (
        *("data", "generate", "--name", "tiny", "--universe", "prototype10", "--json"),
        *("--start", "2025-09-01", "--end", "2025-09-12"),
    ): '"tiny"',
}
"""Arguments, and what is shown."""
ONE_BY_ONE = """
import contextlib, io, json
from tradingbot.app.cli.application import run

said = []
for arguments in {commands!r}:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run(arguments) == 0, arguments
    said.append(out.getvalue())
print(json.dumps(said))
"""
FACADE = """
import sys
import tradingbot as tb
from tradingbot.configuration.files import preset_folder
from tradingbot.evaluation.dataset_facts import load_real_facts
from importlib.resources import files

assert {root!r} not in tb.__file__, tb.__file__
assert not {{{root!r} + "/src", {root!r} + "/benchmarks"}} & set(sys.path), sys.path
for kind in ("training", "evaluation", "gates"):
    assert list(preset_folder(kind).glob("*.yaml")), kind
templates = files("tradingbot.evaluation") / "templates"
pages = ("page.html", "page.css", "chart.css", "page.js")
assert all((templates / name).is_file() for name in pages)
assert (files("tradingbot") / "py.typed").is_file()
assert load_real_facts()
bars = tb.generate_bars("noise", symbols=["SPY"], timeframe="1d")
result = tb.backtest("sma_cross:fast=5,slow=20", bars, against=["buy_and_hold"])
assert result.plot("picture.html").stat().st_size > 10_000
print(result.summary())
from tradingbot.runtime.journal.journal import SessionJournal
with SessionJournal.open("journal.sqlite", create=True) as journal:  # its migrations are inside
    assert journal.head().seq == 0
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel in it; returns its folder of commands."""
    folder = tmp_path_factory.mktemp("wheel")
    tree = folder / "tree"
    tree.mkdir()
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, tree / part)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    wheels = folder / "wheels"
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels)]
    _run([*pip, *build, str(tree)], folder)
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], folder)
    python = folder / "venv" / "bin" / "python"
    (wheel,) = wheels.glob("*.whl")
    _run([*pip, "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)], folder)
    packages = next((folder / "venv" / "lib").glob("python*")) / "site-packages"
    # A path file adds the folder itself and reads no path file in it: not that of the clone.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent


def _run(command: list[str], folder: Path) -> str:
    dropped = ("PYTHONPATH", "TRADINGBOT_WORKSPACE", "TRADINGBOT_PLUGINS")
    environment = {key: value for key, value in os.environ.items() if key not in dropped}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environment, "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in (0, 1) if "doctor" in command else done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def said(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each of `COMMANDS` says there: one interpreter imports the packages for all of them."""
    code = ONE_BY_ONE.format(commands=[list(arguments) for arguments in COMMANDS])
    out = _run([str(installed / "python"), "-c", code], tmp_path_factory.mktemp("elsewhere"))
    texts: list[str] = json.loads(out)
    return texts


def test_installed_command_works_elsewhere(installed: Path, tmp_path: Path) -> None:
    assert "tradingbot" in _run([str(installed / "tradingbot"), "doctor"], tmp_path)


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_command_works_elsewhere(said: list[str], arguments: tuple[str, ...]) -> None:
    assert COMMANDS[arguments] in said[list(COMMANDS).index(arguments)]


def test_facade_works_elsewhere(installed: Path, tmp_path: Path) -> None:
    code = FACADE.format(root=str(ROOT))

    out = _run([str(installed / "python"), "-c", code], tmp_path)

    assert "sma_cross:fast=5,slow=20" in out
    assert "synthetic" in out
