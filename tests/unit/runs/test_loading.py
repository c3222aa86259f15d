"""Damaged, foreign and hostile checkpoints are refused, and the one before is used."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from fixtures.small_runs import content, make_run
from tradingbot.data.atomic import file_sha256
from tradingbot.domain.errors import StorageError
from tradingbot.runs import RunDirectory, latest_good, save_checkpoint
from tradingbot.runs.loading import load_checkpoint, require_checkpoint
from tradingbot.runs.manifest import CheckpointManifest

OLDER, NEWER = "00000001-last", "00000002-last"


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run with two good checkpoints."""
    made = make_run(tmp_path)
    save_checkpoint(made, "last", 1, content(1.0))
    save_checkpoint(made, "last", 2, content(2.0))
    return made


def flip(path: Path, place: float, bit: int = 3) -> None:
    data = bytearray(path.read_bytes())
    data[min(int(place * len(data)), len(data) - 1)] ^= 1 << bit
    path.write_bytes(bytes(data))


def reseal(folder: Path, **changes: object) -> None:
    """Write a manifest that is in itself right, as somebody would who means harm."""
    path = folder / "manifest.json"
    manifest = CheckpointManifest.model_validate_json(path.read_text())
    path.write_text(manifest.model_copy(update=changes).sealed().model_dump_json())


def reseal_file(folder: Path, file: str, data: bytes) -> None:
    (folder / file).write_bytes(data)
    manifest = CheckpointManifest.model_validate_json((folder / "manifest.json").read_text())
    stored = manifest.files[file].model_copy(
        update={"sha256": file_sha256(folder / file), "n_bytes": len(data)}
    )
    reseal(folder, files={**manifest.files, file: stored})


def assert_older_is_used(run: RunDirectory, reason: str) -> None:
    checkpoint, skipped = latest_good(run)
    assert checkpoint is not None
    assert checkpoint.folder.name == OLDER
    assert checkpoint.agent["actor.weights.0"][0, 0] == 1.0
    assert len(skipped) == 1
    assert skipped[0].startswith(f"{NEWER}: ")
    assert reason in skipped[0]
    with pytest.raises(StorageError) as refusal:
        load_checkpoint(run.checkpoints / NEWER)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("file", ["agent.safetensors", "training.safetensors", "manifest.json"])
@pytest.mark.parametrize("place", [0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
def test_flipped_bit_anywhere_is_found(run: RunDirectory, file: str, place: float) -> None:
    path = run.checkpoints / NEWER / file
    flip(path, place, bit=0 if file == "manifest.json" else 3)
    if file == "manifest.json" and place == 1.0:
        path.write_bytes(path.read_bytes()[:-2])  # the line end alone means nothing

    assert_older_is_used(run, file.partition(".")[0])


@pytest.mark.parametrize("file", ["agent.safetensors", "training.safetensors", "manifest.json"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_truncated_or_empty_file_is_found(run: RunDirectory, file: str, share: float) -> None:
    path = run.checkpoints / NEWER / file
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])

    assert_older_is_used(run, file.partition(".")[0])


@pytest.mark.parametrize("file", ["agent.safetensors", "training.safetensors", "manifest.json"])
def test_file_of_zeros_is_found(run: RunDirectory, file: str) -> None:
    path = run.checkpoints / NEWER / file
    path.write_bytes(bytes(path.stat().st_size))

    assert_older_is_used(run, file.partition(".")[0])


@pytest.mark.parametrize("file", ["agent.safetensors", "training.safetensors", "manifest.json"])
def test_missing_file_is_named(run: RunDirectory, file: str) -> None:
    (run.checkpoints / NEWER / file).unlink()

    assert_older_is_used(run, "no manifest" if file == "manifest.json" else f"{file} is missing")


def test_superfluous_file_is_named(run: RunDirectory) -> None:
    (run.checkpoints / NEWER / "notes.txt").write_text("x")

    assert_older_is_used(run, "notes.txt is no part of it")


def test_link_instead_of_a_file_is_refused(run: RunDirectory, tmp_path: Path) -> None:
    path = run.checkpoints / NEWER / "agent.safetensors"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")

    assert_older_is_used(run, "agent.safetensors is no plain file")


def test_folder_that_is_a_link_is_refused(run: RunDirectory, tmp_path: Path) -> None:
    folder = run.checkpoints / NEWER
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")

    assert_older_is_used(run, "a link")


def test_newer_schema_is_refused_as_such(run: RunDirectory) -> None:
    path = run.checkpoints / NEWER / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "version": 3, "novelty": True}))

    assert_older_is_used(run, "schema 3, of a newer tradingbot")


@pytest.mark.parametrize("change", [{"version": 0}, {"surprise": 1}, {"update": "many"}])
def test_other_schema_is_refused(run: RunDirectory, change: dict[str, object]) -> None:
    path = run.checkpoints / NEWER / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))

    assert_older_is_used(run, "manifest is unreadable")


def test_checkpoint_of_another_run_is_refused(run: RunDirectory) -> None:
    reseal(run.checkpoints / NEWER, run_id="stranger")

    checkpoint, skipped = latest_good(run)

    assert checkpoint is not None
    assert checkpoint.folder.name == OLDER
    assert skipped == (f"{NEWER}: a checkpoint of run stranger",)


def test_checkpoint_under_another_name_is_refused(run: RunDirectory) -> None:
    (run.checkpoints / NEWER).rename(run.checkpoints / "00000009-last")

    assert latest_good(run)[1] == (f"00000009-last: manifest is of {NEWER}",)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"weights_sha256": "0" * 64}, "other weights"),
        ({"normaliser_sha256": "0" * 64}, "normaliser is missing or another"),
        ({"files": {}}, "agent.safetensors is no part of it"),
    ],
)
def test_manifest_that_contradicts_its_files_is_refused(
    run: RunDirectory, change: dict[str, object], reason: str
) -> None:
    reseal(run.checkpoints / NEWER, **change)

    assert_older_is_used(run, reason)


def entry(begin: int, end: int, shape: tuple[int, ...]) -> str:
    return f'{{"dtype":"F32","shape":{list(shape)},"data_offsets":[{begin},{end}]}}'


def tensor_file(header: str, body: int, length: int | None = None) -> bytes:
    text = header.encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + b"\1" * body


@pytest.mark.parametrize(
    "data",
    [
        tensor_file("{}", 0, length=2**63),
        tensor_file("{}", 0, length=2**64 - 1),
        tensor_file(f'{{"a":{entry(0, 8, (2,))},"b":{entry(4, 12, (2,))}}}', 12),
        tensor_file(f'{{"a":{entry(0, 8, (2,))},"a":{entry(0, 8, (2,))}}}', 8),
        tensor_file(f'{{"a":{entry(0, 8, (2**40, 2**40))}}}', 8),
        tensor_file(f'{{"actor.weights.0":{entry(0, 8, (2,))}}}', 8),  # well-formed, but another
    ],
)
def test_hostile_tensor_file_is_refused_though_its_hash_is_right(
    run: RunDirectory, data: bytes
) -> None:
    reseal_file(run.checkpoints / NEWER, "agent.safetensors", data)

    assert_older_is_used(run, "")


def test_weights_that_are_not_finite_are_refused_though_the_hash_is_right(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tradingbot.runs.checkpoint.weakness", lambda weights: None)
    bad = {**content().agent, "actor.biases.0": torch.tensor([1.0, float("nan"), 0.0])}
    save_checkpoint(run, "last", 2, content(agent=bad))

    assert_older_is_used(run, "actor.biases.0 holds NaN or infinity")


class Bomb:
    """Leaves a canary when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.canary}",)


def write_pickle(path: Path, canary: Path) -> None:
    import pickle

    path.write_bytes(pickle.dumps(Bomb(canary)))


def write_torch(path: Path, canary: Path) -> None:
    torch.save({"weights": Bomb(canary)}, path)


def write_zip(path: Path, canary: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../escaped", "x")
        archive.writestr("bomb", bytes(10_000_000))


WRITERS: list[Callable[[Path, Path], None]] = [write_pickle, write_torch, write_zip]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("name", ["agent.safetensors", "training.safetensors"])
def test_pickle_or_archive_in_place_of_weights_is_never_executed(
    run: RunDirectory, tmp_path: Path, write: Callable[[Path, Path], None], name: str
) -> None:
    canary, file = tmp_path / "canary", tmp_path / "file"
    write(file, canary)
    reseal_file(run.checkpoints / NEWER, name, file.read_bytes())

    checkpoint, skipped = latest_good(run)

    assert checkpoint is not None
    assert checkpoint.folder.name == OLDER
    assert "a pickle" in skipped[0] or "an archive" in skipped[0]
    assert not canary.exists()
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("name", ["agent.pt", "agent.pkl", "agent.zip", "agent.ckpt", "agent"])
def test_pickle_or_archive_beside_the_weights_is_refused(
    run: RunDirectory, tmp_path: Path, write: Callable[[Path, Path], None], name: str
) -> None:
    canary = tmp_path / "canary"
    write(run.checkpoints / NEWER / name, canary)

    assert_older_is_used(run, "a")
    assert not canary.exists()


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("name", ["model.pt", "model.pkl", "model.zip", "model.safetensors", "m"])
def test_file_instead_of_a_checkpoint_or_run_is_refused_in_one_line(
    tmp_path: Path, write: Callable[[Path, Path], None], name: str
) -> None:
    from tradingbot.runs import find_run

    canary, path = tmp_path / "canary", tmp_path / name
    write(path, canary)

    for use in (lambda: load_checkpoint(path), lambda: find_run(tmp_path, str(path))):
        with pytest.raises(StorageError, match=r"can run code\.$") as refusal:
            use()
        assert "\n" not in str(refusal.value)
    assert not canary.exists()


def test_nothing_kept_yet_is_no_damage(tmp_path: Path) -> None:
    assert latest_good(make_run(tmp_path)) == (None, ())


def test_checkpoint_that_can_only_act_is_not_resumed_from(run: RunDirectory) -> None:
    save_checkpoint(run, "best", 5, content(5.0, training=None))

    to_resume, to_act = latest_good(run)[0], latest_good(run, to_resume=False)[0]

    assert to_resume is not None
    assert to_resume.folder.name == NEWER
    assert to_act is not None
    assert (to_act.folder.name, to_act.training) == ("00000005-best", {})


def test_one_before_an_update_or_with_a_label_is_found(run: RunDirectory) -> None:
    save_checkpoint(run, "last", 3, content(3.0, labels=("healthy",)))
    save_checkpoint(run, "best", 4, content(4.0, labels=("last",)))

    found = [
        latest_good(run, before=3),
        latest_good(run, label="healthy"),
        latest_good(run, label="best"),
        latest_good(run, label="last"),
        latest_good(run, label="final"),
    ]

    assert [c.manifest.update if c else None for c, _ in found] == [2, 3, 4, 4, None]
    assert found[3][0] is not None
    assert found[3][0].manifest.labels == ("best", "last")


def test_folder_inside_a_checkpoint_is_no_part_of_it(run: RunDirectory) -> None:
    (run.checkpoints / NEWER / "more").mkdir()

    assert_older_is_used(run, "more is no part of it")


def test_manifest_that_names_files_of_no_checkpoint_is_refused(run: RunDirectory) -> None:
    folder = run.checkpoints / NEWER
    manifest = CheckpointManifest.model_validate_json((folder / "manifest.json").read_text())
    data = (folder / "agent.safetensors").read_bytes()
    (folder / "more.safetensors").write_bytes(data)
    stored = manifest.files["agent.safetensors"]
    reseal(folder, files={**manifest.files, "more.safetensors": stored})

    assert_older_is_used(run, "manifest names other files")


def test_manifest_that_is_a_link_or_too_long_is_not_read(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run.checkpoints / NEWER / "manifest.json"
    text = path.read_text()
    monkeypatch.setattr("tradingbot.runs.manifest._MAX_BYTES", len(text) + 9)
    path.write_text(text + " " * 9)
    load_checkpoint(path.parent)
    path.write_text(text + " " * 10)
    assert_older_is_used(run, "manifest is a link or too long")

    path.unlink()
    (run.path / "elsewhere.json").write_text(text)
    path.symlink_to(run.path / "elsewhere.json")
    assert_older_is_used(run, "manifest is a link or too long")


def test_checkpoint_of_the_first_label_that_has_one_is_used(run: RunDirectory) -> None:
    save_checkpoint(run, "best", 3, content(3.0, training=None))
    asked = {"rule": "a run must have learned", "remedy": "Train it first"}

    assert require_checkpoint(run, "final", "best", **asked).manifest.update == 3
    assert require_checkpoint(run, None, **asked).manifest.update == 3
    assert require_checkpoint(run, None, **asked, to_resume=True).manifest.update == 2
    with pytest.raises(StorageError, match=r"a run must have learned, was none.*Train it first"):
        require_checkpoint(run, "final", **asked)
    flip(run.checkpoints / "00000003-best" / "agent.safetensors", 0.9)
    with pytest.raises(StorageError, match=r"was 00000003-best: agent.safetensors has another"):
        require_checkpoint(run, "best", "final", **asked)
