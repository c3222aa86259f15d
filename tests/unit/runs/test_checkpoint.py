"""Saving checkpoints: bit for bit, the same bytes each time, and never half of one."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from fixtures.killed_writes import kill_at_every_write
from fixtures.small_runs import content, make_run
from tradingbot.domain.errors import DataError, StorageError
from tradingbot.runs import (
    CheckpointContent,
    Journal,
    RunDirectory,
    final_hash,
    latest_good,
    list_checkpoints,
    save_checkpoint,
)
from tradingbot.runs.loading import load_checkpoint

BUNDLE = ["agent.safetensors", "manifest.json", "training.safetensors"]
FLUSHES_BEFORE_RENAME = 4  # three files and their folder
FIELDS = """version run_id kind labels update steps learner config_sha256 data_sha256 code_version
    code_sha256 feature_ids agents normaliser_sha256 weights_sha256 files metrics journals
    parent acting sha256"""


def files(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def assert_same(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert set(found) == set(expected)
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype, name
        assert found[name].shape == tensor.shape, name
        assert final_hash({"x": found[name]}) == final_hash({"x": tensor}), name


def test_what_is_kept_comes_back_bit_for_bit(tmp_path: Path) -> None:
    run, selected = make_run(tmp_path), content(0.3)

    manifest = save_checkpoint(run, "last", 12, selected)
    loaded = load_checkpoint(run.checkpoints / "00000012-last")

    assert loaded.manifest == manifest
    assert_same(loaded.agent, dict(selected.agent))
    assert_same(loaded.training, dict(selected.training or {}))
    assert (manifest.update, manifest.kind, manifest.steps) == (12, "last", 100)
    assert manifest.metrics == {"eval/sharpe": 0.3}
    assert (manifest.config_sha256, manifest.feature_ids) == (
        *(run.record.config_sha256, ("rsi:1", "atr:2")),
    )
    assert manifest.weights_sha256 == final_hash(selected.agent)
    assert sorted(p.name for p in loaded.folder.iterdir()) == BUNDLE


def test_files_are_readable_with_the_safetensors_library(tmp_path: Path) -> None:
    run, selected = make_run(tmp_path), content()
    save_checkpoint(run, "last", 1, selected)

    theirs = load_file(run.checkpoints / "00000001-last" / "training.safetensors")

    assert_same(theirs, dict(selected.training or {}))


def test_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    folders = []
    for place in ("a", "b"):
        run = make_run(tmp_path / place)
        selected = content()
        if place == "b":  # other order, other memory layout
            training = {
                name: t.t().contiguous().t() if t.dim() == 2 else t.clone()
                for name, t in reversed((selected.training or {}).items())
            }
            selected = content(training=training)
        save_checkpoint(run, "last", 3, selected)
        folders.append(run.checkpoints)

    assert files(folders[0]) == files(folders[1])


def test_same_update_kept_again_takes_the_place_of_the_first(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    save_checkpoint(run, "last", 3, content(1.0))
    (run.checkpoints / "00000003-last" / "agent.safetensors").write_bytes(b"damaged")

    save_checkpoint(run, "last", 3, content(2.0))

    checkpoint, skipped = latest_good(run)
    assert skipped == ()
    assert checkpoint.agent["actor.weights.0"][0, 0] == 2.0


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("kind", ["best", "last", "final"])
def test_weights_that_are_not_finite_are_never_kept(tmp_path: Path, bad: float, kind: str) -> None:
    run = make_run(tmp_path)
    save_checkpoint(run, "best", 1, content())
    weights = {**content().agent, "critic.weight": torch.tensor([1.0, bad])}

    with pytest.raises(DataError, match=r"critic\.weight holds NaN or infinity.*Roll back"):
        save_checkpoint(run, kind, 2, content(agent=weights))

    assert [folder.name for folder in list_checkpoints(run)] == ["00000001-best"]


def test_network_of_zeros_is_never_kept_though_zero_biases_are(tmp_path: Path) -> None:
    run = make_run(tmp_path)

    with pytest.raises(DataError, match="actor is all zeros"):
        save_checkpoint(run, "best", 1, content(0.0))

    save_checkpoint(run, "best", 1, content(1.0))


def test_metric_that_is_no_number_is_kept_as_none(tmp_path: Path) -> None:
    run = make_run(tmp_path)

    manifest = save_checkpoint(run, "last", 1, content(metrics={"a": float("nan"), "b": None}))

    assert load_checkpoint(run.checkpoints / manifest.name).manifest.metrics == {
        "a": None,
        "b": None,
    }


def test_normaliser_must_be_the_one_the_run_was_made_with(tmp_path: Path) -> None:
    statistics = {"centre": torch.ones(2), "scale": torch.ones(2)}
    digest = final_hash(statistics)
    run = make_run(tmp_path, data={"normaliser_sha256": digest})

    for wrong in ({}, {**statistics, "scale": torch.zeros(2)}):
        with pytest.raises(DataError, match="normaliser must be the run's own"):
            save_checkpoint(run, "last", 1, content(normaliser=wrong))
    save_checkpoint(run, "last", 1, content(normaliser=statistics))

    assert latest_good(run)[0].normaliser.keys() == statistics.keys()


@pytest.mark.parametrize(
    "tensors",
    [
        {"": torch.ones(1)},
        {"__metadata__": torch.ones(1)},
        {"c": torch.ones(1, dtype=torch.cfloat)},
    ],
)
def test_tensor_that_files_cannot_hold_is_refused_and_nothing_left(tmp_path: Path, tensors) -> None:
    run = make_run(tmp_path)

    with pytest.raises(DataError, match="tensor must have"):
        save_checkpoint(run, "last", 1, content(training=tensors))

    assert list(run.checkpoints.iterdir()) == []


@pytest.mark.parametrize("again", [True, False])
def test_save_killed_at_any_write_loses_no_checkpoint_that_was_whole(
    tmp_path: Path, again: bool
) -> None:
    """`again`: the start alone is there and written once more, as a resumed run does."""
    run = make_run(tmp_path / "before")
    save_checkpoint(run, "start", 0, content(1.0))

    def act(workspace: Path) -> None:
        folder = RunDirectory.open(workspace / "toy")
        save_checkpoint(folder, *(("start", 0) if again else ("last", 1)), content(1.0))

    kills = 0
    for workspace, was_killed in kill_at_every_write(tmp_path / "before", tmp_path / "k", act):
        kills += was_killed
        found, skipped = latest_good(RunDirectory.open(workspace / "toy"))
        assert found is not None, kills
        assert skipped == ()
        act(workspace)
        assert not list(workspace.rglob(".tmp-*"))
    assert kills >= 8


def save_message(run: RunDirectory, update: int, selected: CheckpointContent) -> str | None:
    """Keep a checkpoint; return what the disk said if it refused."""
    try:
        save_checkpoint(run, "last", update, selected)
    except StorageError as e:
        return str(e)
    return None


@pytest.mark.parametrize(
    ("number", "rule"),
    [
        (errno.ENOSPC, "must have room"),
        (errno.EIO, "must accept the file"),
        (errno.EROFS, "must be writable"),
    ],
)
@pytest.mark.parametrize("failing", range(1, 8))
def test_disk_that_refuses_at_any_flush_keeps_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, rule: str, failing: int
) -> None:
    run = make_run(tmp_path)
    save_checkpoint(run, "last", 1, content())
    before, calls, fsync = files(run.path), [0], os.fsync

    def refuse(descriptor: int) -> None:
        calls[0] += 1
        if calls[0] == failing:
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse)
    said = save_message(run, 2, content(2.0))
    assert (said is None) == (calls[0] < failing)  # there are not so many
    if said is not None:
        assert rule in said
        assert "\n" not in said
    if failing <= FLUSHES_BEFORE_RENAME:
        assert files(run.path) == before
    monkeypatch.undo()
    checkpoint, skipped = latest_good(run)

    assert skipped == ()
    assert checkpoint.manifest.update in (1, 2)
    assert not [p for p in run.path.rglob("*") if p.name.startswith(".tmp-")]


FULL_DISK = """
import sys, torch
from pathlib import Path
from fixtures.small_runs import content, make_run
from tradingbot.domain.errors import StorageError
from tradingbot.runs import Journal, latest_good, save_checkpoint

torch.set_num_threads(1)
root, condition, path = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
import subprocess
run = make_run(root)
journal = Journal(run.journal_path("metrics"))
journal.append({"update": 1})
save_checkpoint(run, "last", 1, content(journals={"metrics": journal.mark()}))
if condition == "read-only":
    journal.close()
    subprocess.run(["mount", "-o", "remount,ro", str(root)], check=True)
large = content(training={"replay": torch.ones(200_000)})
said = []
try:
    save_checkpoint(run, "last", 2, large)
except StorageError as e:
    said.append(str(e))
try:
    for update in range(2 if condition == "full" else 10**6, 10**6):
        journal.append({"update": update, "text": "x" * 1000})
except StorageError as e:
    said.append(str(e))
lines = run.journal_path("metrics").read_bytes()
checkpoint, skipped = latest_good(run)
names = sorted(p.name for p in run.checkpoints.iterdir())
path.write_text(repr((said, checkpoint.manifest.update, skipped, names, lines.endswith(b"\\n"))))
"""


def can_mount() -> bool:
    """Tell whether this user may mount a small disk in a namespace of its own."""
    if shutil.which("unshare") is None:
        return False
    script = 'mount -t tmpfs -o size=64k disk "$0"'
    return not subprocess.run(
        ["unshare", "-rm", "bash", "-c", script, "/mnt"], capture_output=True, check=False
    ).returncode


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a disk to fill")
@pytest.mark.parametrize(
    ("condition", "rule"), [("full", "must have room"), ("read-only", "must be writable")]
)
def test_real_disk_that_refuses_keeps_checkpoint_and_journal(
    tmp_path: Path, condition: str, rule: str
) -> None:
    disk, answer = tmp_path / "disk", tmp_path / "answer"
    disk.mkdir()
    script = 'mount -t tmpfs -o size=256k disk "$1" && exec "$0" -c "$4" "$1" "$2" "$3"'
    arguments = [sys.executable, str(disk), condition, str(answer), FULL_DISK]

    done = subprocess.run(
        ["unshare", "-rm", "bash", "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    said, update, skipped, names, is_whole = eval(answer.read_text())
    assert rule in said[0]
    assert "nothing was lost" in said[0]
    assert (update, skipped, names) == (1, (), ["00000001-last"])
    assert is_whole
    if condition == "full":
        assert rule in said[1]


def test_manifest_holds_no_time_of_day(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    with Journal(run.journal_path("metrics")) as journal:
        journal.append({"update": 1})
        save_checkpoint(run, "last", 1, content(journals={"metrics": journal.mark()}))

    manifest = json.loads((run.checkpoints / "00000001-last" / "manifest.json").read_text())

    assert set(manifest) == set(FIELDS.split())
