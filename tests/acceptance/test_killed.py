"""`kill -9` at random instants of a real import and a real feature build: nothing is lost."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from acceptance.conftest import write_random_bars
from fixtures.warm_process import WarmProcess, run_warm
from tradingbot.app.cli.application import run
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import UncertifiedPanelError
from tradingbot.domain.seeding import stream
from tradingbot.features.panel import Panel

KILLS = pytest.mark.parametrize("kills", [4, pytest.param(24, marks=pytest.mark.slow)])
SYMBOLS, BARS = 8, 8_000


@dataclass(frozen=True)
class Instant:
    """When to kill: so long after the start, or after something began to be written."""

    seconds: float
    while_writing: bool


@pytest.fixture(scope="module")
def bars_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bars enough that storing them takes a while."""
    file = tmp_path_factory.mktemp("bars") / "large.parquet"
    write_random_bars(file, symbols=SYMBOLS, bars=BARS)
    return file


def import_arguments(file: Path, name: str = "large") -> list[str]:
    return ["data", "import", str(file), "--name", name, "--calendar", "24/7", "--grid", "clock"]


def run_json(arguments: list[str], workspace: Path) -> dict[str, object]:
    environment = {"TRADINGBOT_WORKSPACE": str(workspace)}
    code, out, said = run_warm([*arguments, "--json"], environment=environment)
    assert code == 0, said
    document = json.loads(out)
    return document if isinstance(document, dict) else {"rows": document}


def timed(arguments: list[str], workspace: Path) -> tuple[dict[str, object], float]:
    start = time.perf_counter()
    return run_json(arguments, workspace), time.perf_counter() - start


def entries(workspace: Path) -> set[str]:
    """What stands directly in the folders that commands write to."""
    folders = (workspace / name for name in ("datasets", "names", "panels"))
    return {entry for folder in folders if folder.is_dir() for entry in os.listdir(folder)}


def kill_during(arguments: list[str], workspace: Path, instant: Instant) -> bool:
    """Start the command and kill it at an instant; tell whether it was still running."""
    known = entries(workspace)
    environment = {"TRADINGBOT_WORKSPACE": str(workspace)}
    with WarmProcess(arguments, environment=environment) as process:
        while instant.while_writing and process.poll() is None:
            if entries(workspace) - known:
                break
            time.sleep(0.0005)
        try:
            process.wait(timeout=instant.seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
    return process.returncode == -signal.SIGKILL


def instants(kills: int, seconds: float, name: str) -> list[Instant]:
    """Half of them anywhere in a run, half in the moment when something is being written."""
    draw = stream(5, "kill", name)
    anywhere = draw.uniform(0.1, 0.8, kills // 2) * seconds
    writing = draw.uniform(0.0, 0.05, kills - kills // 2)
    return [Instant(float(s), while_writing=False) for s in anywhere] + [
        Instant(float(s), while_writing=True) for s in writing
    ]


def assert_intact(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is listed opens and matches its hashes; every name points at something."""
    capsys.readouterr()
    assert run(["--workspace", str(workspace), "data", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    store = BarStore(workspace)
    assert [row["id"] for row in listed] == [dataset.id for dataset in store.datasets()]
    for dataset in store.datasets():
        assert dataset.load_bars().height == dataset.manifest.rows
        assert dataset.load_covariates().height == 0
        assert dataset.load_quarantine().height == dataset.manifest.quarantined_rows
    for name in store.names():
        assert store.open(name).manifest.rows > 0


def temporaries(workspace: Path) -> list[Path]:
    return [path for path in workspace.rglob("*") if path.name.startswith(".tmp-")]


def content(folder: Path) -> dict[str, str]:
    """Hash of every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@KILLS
def test_import_killed_at_any_time_loses_nothing_and_completes_when_run_again(
    kills: int, bars_file: Path, tmp_path: Path, good_csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calm, stormy = tmp_path / "calm", tmp_path / "stormy"
    expected, seconds = timed(import_arguments(bars_file), calm)
    earlier = run_json(["data", "import", str(good_csv), "--name", "earlier"], stormy)
    before = content(stormy / "datasets")
    killed = 0

    for instant in instants(kills, seconds, "import"):
        killed += kill_during(import_arguments(bars_file), stormy, instant)
        assert_intact(stormy, capsys)
        assert BarStore(stormy).open("earlier").id == earlier["id"]
        assert before.items() <= content(stormy / "datasets").items()
        # Where it was stored just before the kill, the next one shall have to store it again.
        shutil.rmtree(stormy / "datasets" / str(expected["id"]), ignore_errors=True)
        (stormy / "names" / "large").unlink(missing_ok=True)

    again = run_json(import_arguments(bars_file), stormy)
    assert killed >= kills // 3
    assert (again["id"], again["manifest"]) == (expected["id"], expected["manifest"])
    assert temporaries(stormy) == []
    assert content(stormy / "datasets" / str(again["id"])) == content(
        calm / "datasets" / str(expected["id"])
    )
    assert BarStore(stormy).names() == {"earlier": earlier["id"], "large": expected["id"]}


@KILLS
def test_feature_build_killed_at_any_time_loses_nothing_and_completes_when_run_again(
    kills: int, bars_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calm, stormy = tmp_path / "calm", tmp_path / "stormy"
    for workspace in (calm, stormy):
        run_json(import_arguments(bars_file), workspace)
    build = ["features", "build", "large"]
    expected, seconds = timed(build, calm)
    before = content(stormy / "datasets")
    killed = 0

    for instant in instants(kills, seconds, "build"):
        killed += kill_during(build, stormy, instant)
        assert_intact(stormy, capsys)
        assert content(stormy / "datasets") == before
        for folder in (stormy / "panels").glob("[!.]*"):
            panel = Panel.open(folder, require_certificate=False, verify=True)
            assert panel.manifest.model_dump(mode="json") == expected["manifest"]
            shutil.rmtree(folder)

    again = run_json(build, stormy)
    assert killed >= kills // 3
    for key in ("manifest", "scaler_sha256", "valid_frac"):
        assert again[key] == expected[key]
    assert temporaries(stormy) == []
    assert content(stormy / "panels") == content(calm / "panels")
    with pytest.raises(UncertifiedPanelError, match="prove-causal"):
        Panel.open(Path(str(again["folder"])))
