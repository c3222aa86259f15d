from __future__ import annotations

import json
import multiprocessing
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tradingbot.domain.errors import StorageError
from tradingbot.runs.ledger import LEDGER_FILE, Entry, Ledger
from tradingbot.runs.receipt import RECEIPT_FILE, read_receipts

AT = datetime(2026, 1, 5, tzinfo=UTC)


def begin(ledger: Ledger, run: str = "a", *, data: str = "d" * 64, kind: str = "training") -> Entry:
    return ledger.begin(kind, data=data, run=run, config_hash="c" * 64, at=AT)  # type: ignore[arg-type]


def lines_of(ledger: Ledger) -> list[str]:
    return ledger.path.read_text().splitlines(keepends=True)


def test_trials_of_some_data_are_counted_with_their_newest_result(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    first, second = begin(ledger), begin(ledger, "b")
    begin(ledger, "c", data="e" * 64)
    ledger.finish(second, 0.01, alpha_sharpe_per_bar=0.03, at=AT)
    ledger.finish(second, 0.02, alpha_sharpe_per_bar=-0.01, at=AT)
    trials = ledger.trials("d" * 64)
    assert [(each.run, each.sharpe_per_bar) for each in trials] == [("a", None), ("b", 0.02)]
    assert [each.judged_sharpe_per_bar for each in trials] == [None, -0.01]
    assert trials[0].sequence == first.sequence == 0


def test_checks_of_a_dossier_are_kept_but_not_counted(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    begin(ledger)
    begin(ledger, kind="check")
    begin(ledger, kind="tuning")
    begin(ledger, kind="evaluation")
    assert len(ledger.trials("d" * 64)) == 3
    assert len(ledger.entries()) == 4


def test_result_that_is_no_number_is_no_result(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.finish(begin(ledger), float("nan"), alpha_sharpe_per_bar=float("nan"), at=AT)
    assert ledger.trials("d" * 64)[0].sharpe_per_bar is None


def test_ledger_of_before_is_whole_and_judged_by_the_net_return_that_it_noted(
    tmp_path: Path,
) -> None:
    ledger = Ledger(tmp_path)
    ledger.finish(begin(ledger), 0.04, alpha_sharpe_per_bar=float("nan"), at=AT)
    assert "alpha" not in ledger.path.read_text()  # as a version without alpha wrote it
    begin(ledger, "b")
    assert [each.judged_sharpe_per_bar for each in ledger.trials("d" * 64)] == [0.04, None]


def test_workspace_without_ledger_has_no_trials(tmp_path: Path) -> None:
    assert Ledger(tmp_path).trials("d" * 64) == ()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_entry_taken_out_is_found(tmp_path: Path, place: int) -> None:
    ledger = Ledger(tmp_path)
    for run in "abcd":
        begin(ledger, run)
    lines = lines_of(ledger)
    ledger.path.write_text("".join(lines[:place] + lines[place + 1 :]))
    with pytest.raises(StorageError, match=f"line {place + 1} does not follow"):
        ledger.entries()


def test_entry_changed_is_found_by_the_next_one(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    begin(ledger), begin(ledger, "b")
    lines = lines_of(ledger)
    lines[0] = lines[0].replace("d" * 64, "e" * 64)
    ledger.path.write_text("".join(lines))
    with pytest.raises(StorageError, match="line 2 does not follow"):
        ledger.trials("d" * 64)


def test_line_with_other_spelling_is_found(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    begin(ledger)
    ledger.path.write_text(json.dumps(json.loads(ledger.path.read_text()), indent=None) + "\n")
    with pytest.raises(StorageError, match="line 1"):
        ledger.entries()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (('"at":"', '"at": "'), "line 1 does not follow"),  # another spelling of the same
        (('"kind":"training"', '"kind":"dreaming"'), "line 1 is no entry"),
        (('"kind":"training"', '"kind":"training","more":1'), "line 1 is no entry"),
    ],
)
def test_last_line_is_read_whole_before_another_follows(
    tmp_path: Path, change: tuple[str, str], problem: str
) -> None:
    ledger = Ledger(tmp_path)
    begin(ledger)
    text = ledger.path.read_text()
    assert change[0] in text
    ledger.path.write_text(text.replace(*change))
    for use in (ledger.entries, lambda: begin(ledger, "b")):
        with pytest.raises(StorageError, match=problem):
            use()
    assert len(lines_of(ledger)) == 1


def test_append_parses_the_last_entry_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path)
    for number in range(40):
        begin(ledger, f"run-{number}")
    parsed: list[bytes] = []
    real = Entry.model_validate_json
    monkeypatch.setattr(Entry, "model_validate_json", lambda s: parsed.append(s) or real(s))  # type: ignore[func-returns-value]

    assert begin(ledger, "run-40").sequence == 40
    assert len(parsed) == 1
    assert [each.sequence for each in ledger.entries(run="run-7")] == [7]
    assert len(parsed) == 2
    lines = lines_of(ledger)
    lines[3] = lines[3].replace("run-3", "run-x")
    ledger.path.write_text("".join(lines))
    with pytest.raises(StorageError, match="line 5 does not follow"):
        begin(ledger)


def test_trial_begun_once_is_found_again_by_all_it_is_named_by(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    asked = {"kind": "training", "data": "d", "run": "a", "config_hash": "c", "at": AT}
    first = ledger.begin_once(**asked)  # type: ignore[arg-type]
    assert ledger.begin_once(**asked) == first  # type: ignore[arg-type]
    others = ({"kind": "tuning"}, {"data": "e"}, {"run": "b"}, {"config_hash": "d"})
    for number, other in enumerate(others, start=1):
        assert ledger.begin_once(**{**asked, **other}).sequence == number  # type: ignore[arg-type]


def test_torn_line_of_a_kill_is_left_out_and_overwritten(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    begin(ledger)
    with ledger.path.open("a") as file:
        file.write('{"sequence":1,"at":"2026')
    assert len(ledger.entries()) == 1
    assert begin(ledger, "b").sequence == 1
    assert len(ledger.entries()) == 2


def test_runs_deleted_change_no_count(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    for run in "abc":
        folder = tmp_path / "runs" / run
        folder.mkdir(parents=True)
        ledger.write_receipt(folder, begin(ledger, run))
    shutil.rmtree(tmp_path / "runs" / "b")
    ledger.require_receipts()
    assert len(ledger.trials("d" * 64)) == 3


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_ledger_cut_at_its_end_is_found_by_a_run_that_remains(tmp_path: Path, kept: int) -> None:
    ledger = Ledger(tmp_path)
    for run in "abc":
        folder = tmp_path / "runs" / run
        folder.mkdir(parents=True)
        ledger.write_receipt(folder, begin(ledger, run))
    ledger.path.write_text("".join(lines_of(ledger)[:kept]))
    with pytest.raises(StorageError, match="is not there"):
        ledger.require_receipts()


def test_ledger_written_anew_is_found_by_a_run_that_remains(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    folder = tmp_path / "runs" / "a"
    folder.mkdir(parents=True)
    ledger.write_receipt(folder, begin(ledger, "a"))
    ledger.path.unlink()
    begin(ledger, "b")
    with pytest.raises(StorageError, match="which runs/a saw"):
        ledger.require_receipts()


@pytest.mark.parametrize("folder", ["runs/a", "models/trees"])
def test_every_entry_that_a_run_or_model_saw_must_be_there(tmp_path: Path, folder: str) -> None:
    ledger, place = Ledger(tmp_path), tmp_path / folder
    place.mkdir(parents=True)
    ledger.write_receipt(place, begin(ledger))
    begin(ledger, "b")
    look = begin(ledger, kind="evaluation")
    for _ in range(2):  # the same again is no further line
        ledger.write_receipt(place, look)
    begin(ledger, "c")
    assert [each.sequence for each in read_receipts(place / RECEIPT_FILE)] == [0, 2]
    lines = lines_of(ledger)

    ledger.path.write_text("".join(lines[:3]))
    ledger.require_receipts()  # nobody saw the fourth

    ledger.path.write_text("".join(lines[:2]))
    with pytest.raises(StorageError, match=f"entry 2, which {folder} saw, is not there"):
        ledger.require_receipts()


def test_witness_of_an_older_version_is_read_and_extended(tmp_path: Path) -> None:
    ledger, place = Ledger(tmp_path), tmp_path / "runs" / "a"
    place.mkdir(parents=True)
    first = begin(ledger)
    one_line = json.dumps({"sequence": 0, "sha256": first.sha256}, separators=(",", ":")) + "\n"
    (place / RECEIPT_FILE).write_text(one_line)
    ledger.require_receipts()

    ledger.write_receipt(place, begin(ledger, kind="evaluation"))

    assert (place / RECEIPT_FILE).read_text().startswith(one_line)
    assert len(read_receipts(place / RECEIPT_FILE)) == 2


@pytest.mark.parametrize("content", ["", "{}\n", "null\n", '{"sequence":0,"sha256":'])
def test_damaged_witness_is_refused(tmp_path: Path, content: str) -> None:
    ledger, place = Ledger(tmp_path), tmp_path / "runs" / "a"
    place.mkdir(parents=True)
    ledger.write_receipt(place, begin(ledger))
    (place / RECEIPT_FILE).write_text(content)
    with pytest.raises(StorageError, match="must be whole"):
        ledger.require_receipts()


def test_witness_that_lies_elsewhere_is_asked_where_it_is_named(tmp_path: Path) -> None:
    ledger, place = Ledger(tmp_path / "workspace"), tmp_path / "elsewhere"
    place.mkdir()
    ledger.write_receipt(place, begin(ledger))
    ledger.path.unlink()
    ledger.require_receipts(tmp_path / "absent" / RECEIPT_FILE)
    with pytest.raises(StorageError, match="is not there"):
        ledger.require_receipts(place / RECEIPT_FILE)


def test_ledger_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / LEDGER_FILE).mkdir()
    with pytest.raises(StorageError):
        Ledger(tmp_path).entries()


def test_ledger_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine")
    ledger = Ledger(tmp_path / "workspace")
    ledger.path.parent.mkdir()
    ledger.path.symlink_to(tmp_path / "outside")
    with pytest.raises(StorageError, match="must be no link"):
        begin(ledger)
    assert (tmp_path / "outside").read_text() == "mine"


def _count(workspace: Path) -> None:
    ledger, place = Ledger(workspace), workspace / "runs" / "a"
    for _ in range(20):
        ledger.write_receipt(place, begin(ledger))


def test_processes_that_count_at_once_lose_nothing(tmp_path: Path) -> None:
    (tmp_path / "runs" / "a").mkdir(parents=True)
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_count, args=(tmp_path,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [each.sequence for each in Ledger(tmp_path).entries()] == list(range(60))
    seen = read_receipts(tmp_path / "runs" / "a" / RECEIPT_FILE)
    assert sorted(each.sequence for each in seen) == list(range(60))
    Ledger(tmp_path).require_receipts()
