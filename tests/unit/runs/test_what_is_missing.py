"""Files of a run that are missing, empty or shorter: each is named with what is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fixtures.small_runs import NOW, make_plan, make_run, write_run
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.runs import RunDirectory
from tradingbot.runs.compatibility import require_resumable
from tradingbot.runs.foreign import refuse_foreign
from tradingbot.runs.loading import hold_checkpoint, list_checkpoints
from tradingbot.runs.receipt import began_at, read_receipts
from tradingbot.runs.verification import file_problems, require_files


def test_checkpoint_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "00000007-last"
    place = rf"was No such file or directory \({re.escape(str(folder))}\)"
    with pytest.raises(StorageError, match=place), hold_checkpoint(folder):
        pass
    with pytest.raises(StorageError, match=place):
        refuse_foreign(folder)


def test_receipt_that_is_empty_is_named_and_one_that_is_missing_counts_nothing(
    tmp_path: Path,
) -> None:
    assert began_at(tmp_path) == 0
    empty = tmp_path / "receipts"
    empty.touch()
    with pytest.raises(StorageError, match=rf"was empty \({re.escape(str(empty))}\)"):
        read_receipts(empty)


def test_refused_name_leaves_no_folder(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    with pytest.raises(ConfigError, match="run name must be"):
        RunDirectory.create(root, make_plan(), created_at=NOW, name="../outside")
    assert not root.exists()


def test_one_difference_is_named_alone(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    with pytest.raises(ConfigError) as refusal:
        require_resumable(run.record, make_plan(seed=8))
    assert "more" not in str(refusal.value.was)


def test_journals_are_compared_with_the_newest_manifest_that_is_whole(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    write_run(run.path, 6)
    assert file_problems(run) == ()
    require_files(run)

    journal = run.journal_path("metrics")
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-4])
    assert [*file_problems(run)] == ["metrics.jsonl: 4 bytes short"]
    with pytest.raises(StorageError, match=r"must be as training left them, was metrics.jsonl: 4"):
        require_files(run)
    journal.write_bytes(whole + b"{}\n")
    sizes = f"{len(whole) + 3:,} bytes instead of {len(whole):,}"
    assert [*file_problems(run)] == [f"metrics.jsonl: {sizes}"]

    journal.write_bytes(whole)
    older, newer = list_checkpoints(run)
    (newer / "manifest.json").write_text("{}")
    (problem,) = file_problems(run)  # the older one counts half of the rows
    assert re.fullmatch(rf"metrics.jsonl: {len(whole):,} bytes instead of \d+", problem)
    (older / "manifest.json").unlink()
    assert file_problems(run) == ()  # nothing says how long it was
