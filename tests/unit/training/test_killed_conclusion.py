"""A kill at every write: a trial is counted once, and `finished` means that everything is there."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fixtures.killed_writes import kill_at_every_write
from fixtures.small_runs import NOW, content, make_run
from tradingbot.data.atomic import atomic_directory
from tradingbot.runs import Journal, RunDirectory, save_checkpoint
from tradingbot.runs.ledger import Ledger, Trial
from tradingbot.runs.receipt import RECEIPT_FILE, read_receipts
from tradingbot.runs.verification import file_problems
from tradingbot.training.checkpoint_writer import JOURNALS
from tradingbot.training.conclusion import conclude_training
from tradingbot.training.result_file import TrainResult, read_result
from tradingbot.training.trial_ledger import (
    count_evaluation,
    count_fit,
    count_training,
    require_counted,
)

DATA = "d" * 64
AT = datetime(2026, 1, 6, tzinfo=UTC)
STORED = Path(__file__).parents[2] / "fixtures" / "version_1"
PER_YEAR = 252.0


@pytest.fixture(scope="module")
def result() -> TrainResult:
    return replace(read_result(STORED), format=2)


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A workspace with a run that was not counted yet."""
    make_run(tmp_path / "begun" / "runs", "toy")
    return tmp_path / "begun"


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A workspace with a run that has learned everything and was not judged yet."""
    run = make_run(tmp_path / "trained" / "runs", "toy")
    for name in JOURNALS:
        with Journal(run.journal_path(name)) as journal:
            journal.append({"update": 1})
    save_checkpoint(run, "final", 1, content())
    count_training(run, tmp_path / "trained", at=NOW)
    return tmp_path / "trained"


def run_of(workspace: Path) -> RunDirectory:
    return RunDirectory.open(workspace / "runs" / "toy")


def trials(workspace: Path) -> tuple[Trial, ...]:
    return Ledger(workspace).trials(DATA)


def leftovers(workspace: Path) -> list[str]:
    return [path.name for path in workspace.rglob(".tmp-*")]


def test_training_killed_at_any_write_while_it_is_counted_counts_once(
    begun: Path, tmp_path: Path
) -> None:
    def act(workspace: Path) -> None:
        count_training(run_of(workspace), workspace, at=AT)

    kills = 0
    for workspace, was_killed in kill_at_every_write(begun, tmp_path, act):
        kills += was_killed
        act(workspace)  # resumed
        assert [each.run for each in trials(workspace)] == ["toy"], kills
        require_counted(run_of(workspace), workspace)
        assert leftovers(workspace) == []
    assert kills >= 6, "ledger: made, cut, line, flush; receipt: made, flush, rename"


def test_another_run_of_the_same_name_and_configuration_counts_as_another(begun: Path) -> None:
    count_training(run_of(begun), begun, at=AT)
    (begun / "runs" / "toy").rename(begun / "deleted")
    again = make_run(begun / "runs", "toy")
    assert again.record.sha256 == run_of(begun).record.sha256  # the same moment, the same run

    (begun / "runs" / "toy").rename(begun / "deleted-too")
    later = RunDirectory.open(begun / "deleted").record.model_copy(
        update={"created_at": NOW + timedelta(seconds=1)}
    )
    make_run(begun / "runs", "toy")
    (begun / "runs" / "toy" / "run.json").write_text(later.sealed().model_dump_json())
    count_training(run_of(begun), begun, at=AT)
    assert len(trials(begun)) == 2


def test_training_killed_at_any_write_of_its_end_is_finished_whole_or_not_at_all(
    trained: Path, tmp_path: Path, result: TrainResult
) -> None:
    def act(workspace: Path) -> None:
        run = run_of(workspace)
        trial = count_training(run, workspace, at=AT)
        selected = save_checkpoint(run, "selected", 1, content())
        conclude_training(
            trial, run, workspace, result, selected=selected, bars_per_year=PER_YEAR, at=AT
        )

    def require_finished(workspace: Path) -> None:
        run = run_of(workspace)
        (trial,) = trials(workspace)
        assert trial.sharpe_per_bar is not None
        assert run.status().state == "finished"
        assert file_problems(run) == ()
        assert read_result(run.path).decision == result.decision
        require_counted(run, workspace)

    kills = 0
    for workspace, was_killed in kill_at_every_write(trained, tmp_path, act):
        kills += was_killed
        assert len(trials(workspace)) == 1
        if run_of(workspace).status().state == "finished":
            require_finished(workspace)
        act(workspace)  # resumed
        require_finished(workspace)
        assert leftovers(workspace) == []
    assert kills >= 20


def test_fit_killed_at_any_write_counts_once_and_a_stored_model_has_its_receipt(
    tmp_path: Path,
) -> None:
    before = tmp_path / "before"
    (before / "models").mkdir(parents=True)

    def act(workspace: Path) -> None:
        counted = count_fit("trees", workspace, data=DATA, config_hash="fit", at=AT)
        folder = workspace / "models" / "trees"
        if not folder.exists():
            with atomic_directory(folder) as temporary:
                (temporary / RECEIPT_FILE).write_text(counted.receipt.line)

    for workspace, _ in kill_at_every_write(before, tmp_path, act):
        model = workspace / "models" / "trees"
        if model.exists():
            assert [each.sequence for each in read_receipts(model / RECEIPT_FILE)] == [0]
        act(workspace)  # asked for again
        assert len(trials(workspace)) == 1
        assert leftovers(workspace) == []


def test_evaluation_killed_at_any_write_while_it_is_counted_counts_once(
    trained: Path, tmp_path: Path
) -> None:
    def act(workspace: Path) -> None:
        folder = workspace / "runs" / "toy"
        count_evaluation("toy", workspace, folder, data=DATA, config_hash="look", at=AT)

    for workspace, _ in kill_at_every_write(trained, tmp_path, act):
        act(workspace)
        assert [each.kind for each in trials(workspace)] == ["training", "evaluation"]
        require_counted(run_of(workspace), workspace)
        assert leftovers(workspace) == []


def test_run_killed_at_any_write_of_its_creation_is_there_whole_or_not_at_all(
    tmp_path: Path,
) -> None:
    before, act = tmp_path / "before", lambda workspace: make_run(workspace / "runs", "toy")
    before.mkdir()
    for workspace, _ in kill_at_every_write(before, tmp_path, act):
        if (workspace / "runs" / "toy").exists():
            assert run_of(workspace).status().state == "running"
        else:
            act(workspace)
            assert leftovers(workspace) == []
