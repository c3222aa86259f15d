"""Which checkpoints stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.small_runs import content, make_run
from tradingbot.data.atomic import discard_directory
from tradingbot.domain.errors import StorageError
from tradingbot.runs import RunDirectory, latest_good, list_checkpoints, save_checkpoint
from tradingbot.runs.loading import hold_checkpoint
from tradingbot.runs.retention import rewind, thin_out


def names(run: RunDirectory) -> list[str]:
    return [folder.name for folder in list_checkpoints(run)]


def damage(run: RunDirectory, name: str) -> None:
    (run.checkpoints / name / "training.safetensors").write_bytes(b"")


def test_best_last_three_final_selected_and_start_stay(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    save_checkpoint(run, "start", 0, content(training=None))
    for update in range(1, 9):
        save_checkpoint(run, "last", update, content(float(update)))
        if update in (2, 4):
            save_checkpoint(run, "best", update, content(float(update)))
    save_checkpoint(run, "final", 9, content(9.0))
    save_checkpoint(run, "selected", 9, content(9.5, training=None))

    assert names(run) == [
        *("00000000-start", "00000004-best", "00000006-last", "00000007-last", "00000008-last"),
        *("00000009-final", "00000009-selected"),
    ]


def test_judged_checkpoint_of_an_older_run_is_its_selected_one(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    old = save_checkpoint(run, "judged", 3, content(3.0, training=None))

    found, skipped = latest_good(run, to_resume=False, label="selected")
    assert found is not None
    assert found.manifest == old
    assert found.manifest.label_names == ("selected",)
    assert skipped == ()

    save_checkpoint(run, "selected", 3, content(3.5, training=None))  # resumed by this version
    assert names(run) == ["00000003-selected"]


def test_damaged_judged_checkpoint_of_an_older_run_is_named(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    save_checkpoint(run, "judged", 3, content(3.0, training=None))
    (run.checkpoints / "00000003-judged" / "manifest.json").write_text("{")

    found, skipped = latest_good(run, to_resume=False, label="selected")

    assert found is None
    assert [each.partition(":")[0] for each in skipped] == ["00000003-judged"]


def test_newest_one_to_return_to_stays(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    for update in range(1, 8):
        labels = ("healthy",) if update <= 2 else ()
        save_checkpoint(run, "last", update, content(float(update), labels=labels))

    assert names(run) == ["00000002-last", "00000005-last", "00000006-last", "00000007-last"]


def test_one_that_is_best_and_last_counts_as_both(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    save_checkpoint(run, "best", 1, content(labels=("last",)))
    for update in (2, 3):
        save_checkpoint(run, "last", update, content(float(update)))
    save_checkpoint(run, "best", 4, content(labels=("last",)))

    assert names(run) == ["00000002-last", "00000003-last", "00000004-best"]


def test_last_good_one_is_never_removed(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    for update in (1, 2, 3):
        save_checkpoint(run, "last", update, content(float(update)))
    damage(run, "00000002-last")
    damage(run, "00000003-last")
    # A fourth that was damaged after it was written.
    (run.checkpoints / "00000003-last").rename(run.checkpoints / "00000004-last")

    removed = thin_out(run)

    assert removed == []
    for name in ("00000003-last", "00000005-last"):
        (run.checkpoints / name).mkdir()
    assert thin_out(run) == ["00000002-last"]
    checkpoint, skipped = latest_good(run)
    assert checkpoint is not None
    assert checkpoint.folder.name == "00000001-last"
    assert len(skipped) == 3


def test_checkpoint_that_cannot_be_resumed_from_is_not_the_good_one(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    for update in (1, 2, 3, 4):
        if update == 4:
            for name in ("00000002-last", "00000003-last"):
                damage(run, name)
        save_checkpoint(run, "last", update, content(training=None if update == 4 else {**ONE}))

    assert "00000001-last" in names(run)


ONE = dict(content().training or {})


def test_one_that_is_being_read_stays_until_the_next_time(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    for update in (1, 2, 3):
        save_checkpoint(run, "last", update, content(float(update)))

    with hold_checkpoint(run.checkpoints / "00000001-last"):
        save_checkpoint(run, "last", 4, content())
        during = names(run)
    save_checkpoint(run, "last", 5, content())

    assert during == ["00000001-last", "00000002-last", "00000003-last", "00000004-last"]
    assert names(run) == ["00000003-last", "00000004-last", "00000005-last"]


def test_rewind_removes_what_came_later_only(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    for update, kind in ((1, "last"), (2, "last"), (2, "best"), (3, "best"), (3, "last")):
        save_checkpoint(run, kind, update, content(float(update)))
    selected = names(run)

    removed = rewind(run, 2)

    assert removed == ["00000003-best", "00000003-last"]
    assert names(run) == [name for name in selected if name not in removed]
    assert [p for p in run.checkpoints.iterdir() if p.name.startswith(".tmp-")] == []


def test_discarding_what_is_not_there_is_no_error(tmp_path: Path) -> None:
    assert discard_directory(tmp_path / "none")


def test_disk_that_refuses_to_delete_does_not_stop_learning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path)

    def refuse(folder: Path, *, wait: bool = False) -> bool:
        raise StorageError("disk must accept the file", was="EIO", where=str(folder))

    monkeypatch.setattr("tradingbot.runs.retention.discard_directory", refuse)
    for update in range(1, 6):
        save_checkpoint(run, "last", update, content(float(update)))

    assert len(names(run)) == 5
