from __future__ import annotations

import math
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fixtures.tiny_training import tiny_config
from tradingbot.domain.errors import StorageError
from tradingbot.evaluation.performance.record import AGENTS
from tradingbot.runs.ledger import LEDGER_FILE, Entry, Kind, Ledger
from tradingbot.runs.receipt import RECEIPT_FILE, read_receipts, write_receipts
from tradingbot.runs.record import DataIdentity
from tradingbot.training.data import open_data
from tradingbot.training.session import SessionCallbacks, begin_run, resume_session
from tradingbot.training.trial_ledger import (
    count_evaluation,
    count_fit,
    count_training,
    data_key,
    model_key,
    require_counted,
)


def test_training_is_counted_once_with_its_result_on_the_test_part(tmp_path: Path) -> None:
    config = tiny_config(validation__shrink=False)
    session = begin_run(config, tmp_path)
    assert session.result is not None
    (trial,) = Ledger(tmp_path).trials(data_key(session.run.record.data))
    assert trial.run == session.run.id
    first, last = session.result.parts[0].policy(AGENTS), session.result.parts[-1].policy(AGENTS)
    assert first is not None
    assert last is not None
    assert session.result.parts[-1].part == "test"
    bars_per_year = open_data(config, tmp_path).bars_per_year
    assert trial.sharpe_per_bar == pytest.approx(
        last.sharpe_annual.estimate / math.sqrt(bars_per_year)
    )
    assert last.sharpe_annual.estimate != first.sharpe_annual.estimate
    assert trial.judged_sharpe_per_bar == pytest.approx(
        last.alpha_sharpe_annual / math.sqrt(bars_per_year)
    )
    assert trial.judged_sharpe_per_bar != trial.sharpe_per_bar

    resume_session(session.run.id, tmp_path)
    assert len(Ledger(tmp_path).trials(trial_data := data_key(session.run.record.data))) == 1

    shutil.rmtree(session.run.path)
    assert len(Ledger(tmp_path).trials(trial_data)) == 1


def test_interrupted_training_is_counted_though_it_has_no_result(tmp_path: Path) -> None:
    session = begin_run(tiny_config(), tmp_path, SessionCallbacks(interrupted=lambda: True))
    assert session.result is None
    (trial,) = Ledger(tmp_path).trials(data_key(session.run.record.data))
    assert trial.sharpe_per_bar is None


def test_run_is_not_resumed_beside_a_ledger_that_was_cut(tmp_path: Path) -> None:
    session = begin_run(tiny_config(), tmp_path, SessionCallbacks(interrupted=lambda: True))
    (tmp_path / LEDGER_FILE).unlink()
    with pytest.raises(StorageError, match="ledger of trials"):
        resume_session(session.run.id, tmp_path)


def test_broken_ledger_refuses_a_training_before_it_has_a_folder(tmp_path: Path) -> None:
    (tmp_path / LEDGER_FILE).write_text("{}\n")
    with pytest.raises(StorageError, match="ledger of trials must be whole"):
        begin_run(tiny_config(), tmp_path, name="t2")
    assert not (tmp_path / "runs" / "t2").exists()

    (tmp_path / LEDGER_FILE).unlink()  # the name is still free
    begin_run(tiny_config(), tmp_path, SessionCallbacks(interrupted=lambda: True), name="t2")


def test_ledger_without_a_look_that_a_run_saw_refuses_every_run(tmp_path: Path) -> None:
    interrupted = SessionCallbacks(interrupted=lambda: True)
    runs = [begin_run(tiny_config(), tmp_path, interrupted, name=name).run for name in "ab"]
    ledger, data, at = Ledger(tmp_path), data_key(runs[0].record.data), datetime.now(UTC)
    cut = ledger.path.read_bytes()

    def look() -> None:
        folder = runs[0].path
        count_evaluation("a", tmp_path, folder, data=data, config_hash="x", at=at)

    look()
    counted = ledger.path.read_bytes()
    for run in runs:
        require_counted(run, tmp_path)

    ledger.path.write_bytes(cut)
    for run in runs:
        with pytest.raises(StorageError, match="entry 2, which runs/a saw, is not there"):
            require_counted(run, tmp_path)

    ledger.path.write_bytes(counted)
    first, _ = read_receipts(runs[0].path / RECEIPT_FILE)
    write_receipts(runs[0].path, (first,))  # killed between count and witness
    look()
    assert ledger.path.read_bytes() == counted
    assert len(read_receipts(runs[0].path / RECEIPT_FILE)) == 2


def test_result_of_a_training_is_witnessed(tmp_path: Path) -> None:
    run = begin_run(tiny_config(), tmp_path).run
    ledger = Ledger(tmp_path)
    require_counted(run, tmp_path)
    assert ledger.entries()[-1].kind == "result"

    ledger.path.write_bytes(b"".join(ledger.path.read_bytes().splitlines(keepends=True)[:-1]))

    with pytest.raises(StorageError, match="is not there"):
        require_counted(run, tmp_path)


def test_run_is_counted_only_by_its_own_training_on_its_own_data(tmp_path: Path) -> None:
    run = begin_run(tiny_config(), tmp_path, SessionCallbacks(interrupted=lambda: True)).run
    require_counted(run, tmp_path)

    ledger, data, at = Ledger(tmp_path), data_key(run.record.data), datetime.now(UTC)

    def begin(kind: Kind = "training", data: str = data, name: str = run.id) -> Entry:
        return ledger.begin(kind, data=data, run=name, config_hash="c" * 64, at=at)

    for other in (begin("check"), begin(data="d" * 64), begin(name="other")):
        write_receipts(run.path, (other.receipt,))
        with pytest.raises(StorageError, match="its training in the ledger"):
            require_counted(run, tmp_path)
    another = Ledger(tmp_path / "another")
    for _ in range(len(ledger.entries()) + 1):
        forged = another.begin("training", data=data, run=run.id, config_hash="f" * 64, at=at)
    write_receipts(run.path, (forged.receipt,))
    with pytest.raises(StorageError, match="its training in the ledger"):
        require_counted(run, tmp_path)  # beyond the end
    begin()
    with pytest.raises(StorageError, match="its training in the ledger"):
        require_counted(run, tmp_path)  # at its place, but another entry

    (run.path / RECEIPT_FILE).unlink()
    with pytest.raises(StorageError, match=r"no ledger\.json"):
        require_counted(run, tmp_path)
    count_training(run, tmp_path, at=at)
    require_counted(run, tmp_path)


def test_key_is_of_the_bars_and_not_of_what_is_made_of_them() -> None:
    bars, features = "b" * 64, "f" * 64
    stored = DataIdentity(label="", synthetic=False, data_sha256=features, dataset_sha256=bars)
    assert data_key(stored) == bars
    older = DataIdentity(label="", synthetic=True, data_sha256=features)
    assert data_key(older) == features


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        ({"symbols": ["AAPL"]}, True),
        ({"splits__train": 0.5, "splits__validation": 0.3}, True),
        ({"market__seed": 8}, False),
        ({"market__end": "2025-09-30"}, False),
        ({"market__params": {"kappa": 0.2}}, False),
    ],
)
def test_generated_market_has_one_key_whatever_a_run_takes_of_it(
    tmp_path: Path, change: dict[str, object], is_same: bool
) -> None:
    base, other = (open_data(tiny_config(**each), tmp_path).identity for each in ({}, change))
    assert base.data_sha256 != other.data_sha256
    assert (data_key(base) == data_key(other)) == is_same


def test_same_fit_is_one_training_and_the_same_look_one_evaluation(tmp_path: Path) -> None:
    at = datetime.now(UTC)
    for fit in ("fit", "fit", "other"):
        count_fit("trees", tmp_path, data="bars", config_hash=fit, at=at)
    for run, data, config_hash in (
        ("a", "bars", "x"),
        ("a", "bars", "x"),
        ("a", "bars", "y"),
        ("b", "bars", "x"),
        ("a", "others", "x"),
    ):
        count_evaluation(run, tmp_path, tmp_path / run, data=data, config_hash=config_hash, at=at)

    trials = [(t.kind, t.run, t.config_hash) for t in Ledger(tmp_path).trials("bars")]
    fits = [("training", model_key("trees"), fit) for fit in ("fit", "other")]
    looks = [("evaluation", "a", "x"), ("evaluation", "a", "y"), ("evaluation", "b", "x")]
    assert trials == [*fits, *looks]
    assert len(Ledger(tmp_path).trials("others")) == 1
