"""Going on with a run: where from, against what, and what is dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.small_runs import NOW, content, make_plan, make_run
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.runs import (
    Journal,
    RunDirectory,
    list_checkpoints,
    read_journal,
    resume_run,
    save_checkpoint,
)


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run with three checkpoints and their rows."""
    made = make_run(tmp_path)
    with Journal(made.journal_path("metrics")) as journal:
        for update in (1, 2, 3):
            journal.append({"update": update})
            marks = {"metrics": journal.mark()}
            save_checkpoint(made, "last", update, content(float(update), journals=marks))
        journal.append({"update": 4})
    return made


def updates(run: RunDirectory) -> list[int]:
    return [row["update"] for row in read_journal(run.journal_path("metrics"))]


def test_newest_is_used_and_recorded(run: RunDirectory) -> None:
    run.write_status("failed", at=NOW, update=4, steps=40, reason="power cut")

    point = resume_run(run, make_plan(), at=NOW)
    Journal(run.journal_path("metrics"), mark=point.mark("metrics")).close()

    assert (point.update, point.skipped, point.forced) == (3, (), ())
    assert updates(run) == [1, 2, 3]
    status = run.status()
    assert (status.state, status.reason, status.update) == ("running", None, 3)
    assert status.resumptions[0].checkpoint == "00000003-last"


def test_damaged_newest_is_passed_over_reported_and_dropped(run: RunDirectory) -> None:
    (run.checkpoints / "00000003-last" / "agent.safetensors").write_bytes(b"")

    point = resume_run(run, make_plan(), at=NOW)
    Journal(run.journal_path("metrics"), mark=point.mark("metrics")).close()

    assert point.update == 2
    assert point.skipped == ("00000003-last: agent.safetensors has 0 bytes",)
    assert run.status().resumptions[0].skipped == point.skipped
    assert updates(run) == [1, 2]
    assert [f.name for f in list_checkpoints(run)] == ["00000001-last", "00000002-last"]


def test_checkpoint_whose_rows_are_lost_is_passed_over(run: RunDirectory) -> None:
    path = run.journal_path("metrics")
    path.write_bytes(path.read_bytes()[: path.read_bytes().index(b"3")])

    point = resume_run(run, make_plan(), at=NOW)

    assert point.update == 2
    assert "metrics.jsonl" in point.skipped[0]


def test_nothing_whole_is_an_error_that_deletes_nothing(run: RunDirectory) -> None:
    for folder in list_checkpoints(run):
        (folder / "manifest.json").write_text("{}")

    with pytest.raises(StorageError, match="must have a whole checkpoint") as refusal:
        resume_run(run, make_plan(), at=NOW)

    assert "\n" not in str(refusal.value)
    assert len(list_checkpoints(run)) == 3


def test_nothing_kept_yet_begins_again(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    with Journal(run.journal_path("metrics")) as journal:
        journal.append({"update": 1})

    point = resume_run(run, make_plan(), at=NOW)
    Journal(run.journal_path("metrics"), mark=point.mark("metrics")).close()

    assert (point.checkpoint, point.update) == (None, 0)
    assert updates(run) == []


def test_other_configuration_is_refused_before_anything_changes(run: RunDirectory) -> None:
    (run.checkpoints / "00000003-last" / "agent.safetensors").write_bytes(b"")

    with pytest.raises(ConfigError, match=r"ppo\.epochs: 4 → 9"):
        resume_run(run, make_plan({"ppo": {"epochs": 9}, "symbols": ["AAA", "BBB"]}), at=NOW)

    assert len(list_checkpoints(run)) == 3
    assert run.status().resumptions == ()


def test_forced_difference_is_recorded(run: RunDirectory) -> None:
    plan = make_plan({"ppo": {"epochs": 9}, "symbols": ["AAA", "BBB"]})

    point = resume_run(run, plan, at=NOW, force=True)

    assert point.forced == ("config ppo.epochs: 4 → 9",)
    assert RunDirectory.open(run.path).status().resumptions[0].forced == point.forced
