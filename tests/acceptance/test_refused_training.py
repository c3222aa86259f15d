"""T04, T05: a disk that refuses, and checkpoints that are damaged, through `tradingbot train`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from acceptance.test_refusing_disk import can_mount
from fixtures.small_disk import FOLLOW_STEPS
from fixtures.tiny_training import tiny_arguments, tiny_config
from fixtures.warm_process import run_warm
from tradingbot.app.cli.application import run
from tradingbot.runs import RunDirectory, final_hash, latest_good, list_checkpoints
from tradingbot.training.session import begin_run


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """The run to which nothing happened."""
    return begin_run(tiny_config(), tmp_path_factory.mktemp("whole"), name="run").run


def final_weights(run: RunDirectory) -> str:
    checkpoint, skipped = latest_good(run)
    assert checkpoint is not None
    assert (checkpoint.manifest.kind, skipped) == ("final", ())
    return final_hash(checkpoint.agent)


def only_error(said: str) -> str:
    """Return the one line that tells what is wrong, among those that tell what is done."""
    (line,) = [line for line in said.splitlines() if line.startswith("error: ")]
    assert "Traceback" not in said
    assert said.endswith(f"{line}\n")
    return line


OUTCOMES = {"full": "2", "read_only": "2", "roomy": "0"}
"""Attempt → exit code."""


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a disk to fill")
def test_disk_that_refuses_is_named_and_the_run_goes_on_when_there_is_room(
    tmp_path: Path, whole: RunDirectory
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    resume = ["--workspace", str(disk), "train", "--resume", "run"]
    checkpoints = "**/checkpoints/**/*"
    steps = [
        ["run", "full", *tiny_arguments(disk, "--name", "run")],
        ["hash", "kept", checkpoints],
        ["remount", "ro"],
        ["run", "read_only", *resume],
        ["hash", "kept_still", checkpoints],
        ["remount", "rw,size=8m"],
        ["run", "roomy", *resume],
        ["copy", "runs"],
    ]

    done = run_warm(
        [str(disk), "300k", str(tmp_path), json.dumps(steps)], function=FOLLOW_STEPS, timeout=300
    )

    assert done == (0, "", "")
    codes = {name: (tmp_path / f"{name}.code").read_text() for name in OUTCOMES}
    assert codes == OUTCOMES
    full, read_only = (
        only_error((tmp_path / f"{name}.err").read_text()) for name in ("full", "read_only")
    )
    assert "must have room" in full
    assert "must be writable" in read_only
    assert (tmp_path / "kept").read_text() == (tmp_path / "kept_still").read_text() != ""
    assert final_weights(RunDirectory.open(tmp_path / "runs" / "run")) == final_weights(whole)


def truncate(folder: Path) -> None:
    file = folder / "training.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def flip_a_bit(folder: Path) -> None:
    file = folder / "agent.safetensors"
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)


def empty(folder: Path) -> None:
    (folder / "training.safetensors").write_bytes(b"")


def date_ahead(folder: Path) -> None:
    file = folder / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "version": 99}))


DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (truncate, "training.safetensors has"),
    (flip_a_bit, "agent.safetensors has another hash"),
    (empty, "training.safetensors has 0 bytes"),
    (date_ahead, "schema 99, of a newer tradingbot"),
]


def test_damaged_checkpoints_are_passed_over_and_the_run_ends_with_the_same_bits(
    tmp_path: Path, whole: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tiny_arguments(tmp_path, "--name", "run")) == 0
    capsys.readouterr()
    found = RunDirectory.open(tmp_path / "runs" / "run")
    result = (found.path / "result.json").read_bytes()
    able = [f for f in list_checkpoints(found) if (f / "training.safetensors").exists()]
    newest = [*reversed(able)][: len(DAMAGES)]
    for (damage, _), folder in zip(DAMAGES, newest, strict=True):
        damage(folder)

    code = run(["--workspace", str(tmp_path), "train", "--resume", "run"])

    said = capsys.readouterr().err
    assert code == 0, said
    for (_, reason), folder in zip(DAMAGES, newest, strict=True):
        assert f"passed over: {folder.name}: " in said
        assert reason in said
    assert final_weights(found) == final_weights(whole)
    assert (found.path / "result.json").read_bytes() == result


def test_run_without_a_whole_checkpoint_is_refused_in_one_line(
    tmp_path: Path, whole: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(whole.path, tmp_path / "runs" / "run")
    for folder in list_checkpoints(RunDirectory.open(copy)):
        if (folder / "training.safetensors").exists():
            truncate(folder)

    code = run(["--workspace", str(tmp_path), "train", "--resume", "run"])

    line = only_error(capsys.readouterr().err)
    assert code == 2
    assert "must have a whole checkpoint" in line
    assert "00000012-final: training.safetensors has" in line
