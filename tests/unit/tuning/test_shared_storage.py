"""Workspaces that share a database of trials: each has every trial in its ledger, once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.postgres import PostgresServer
from fixtures.tiny_tuning import SETTINGS, skip_training, tiny_space, tiny_study
from tradingbot.domain.errors import InterruptionError
from tradingbot.runs.ledger import Ledger
from tradingbot.tuning.optuna_study import OptunaStudy
from tradingbot.tuning.request import TuneRequest
from tradingbot.tuning.session import TuneCallbacks, tune
from tradingbot.tuning.trial_record import TrialResult

FOUR = replace(SETTINGS, trials=4)


@pytest.fixture(autouse=True)
def _no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    skip_training(monkeypatch)


@pytest.fixture
def shared(tmp_path: Path) -> TuneRequest:
    """A study that the first workspace has made."""
    request = replace(tiny_study(settings=FOUR), storage=f"sqlite:///{tmp_path}/trials.db")
    tune(request, tmp_path / "a")
    return request


def counted(workspace: Path) -> list[str]:
    return [e.config_hash for e in Ledger(workspace).entries() if e.kind == "tuning"]


def test_trials_that_another_workspace_made_are_counted_here_once(
    shared: TuneRequest, tmp_path: Path
) -> None:
    first, here = tmp_path / "a", tmp_path / "b"

    found = [tune(shared, here), tune(shared, here)]

    assert [each.files.evidence.ledger_trials for each in found] == [4, 4]
    assert counted(here) == counted(first)
    assert len(set(counted(here))) == 4
    Ledger(here).require_receipts()


def test_longer_study_counts_those_before_and_its_own(shared: TuneRequest, tmp_path: Path) -> None:
    longer = replace(shared, settings=replace(FOUR, trials=6))

    tune(longer, tmp_path / "b")
    tune(longer, tmp_path / "a")

    assert len(set(counted(tmp_path / "b"))) == len(counted(tmp_path / "b")) == 6
    assert sorted(counted(tmp_path / "a")) == sorted(counted(tmp_path / "b"))


def test_trials_that_a_choice_is_made_from_are_counted_before_it(
    shared: TuneRequest, tmp_path: Path
) -> None:
    longer = replace(shared, settings=replace(FOUR, trials=6))
    stops = TuneCallbacks(interrupted=lambda: True)

    with pytest.raises(InterruptionError):
        tune(longer, tmp_path / "b", callbacks=stops)

    assert counted(tmp_path / "b")[:4] == counted(tmp_path / "a")


def test_counting_that_is_cut_off_is_neither_doubled_nor_lost(
    shared: TuneRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, whole = tmp_path / "b", Ledger.begin_once
    done: list[int] = []

    def cut(*given: object, **named: object) -> object:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(1)
        return whole(*given, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "begin_once", cut)
        with pytest.raises(KeyboardInterrupt):
            tune(shared, here)
    assert len(counted(here)) == 2

    tune(shared, here)

    assert sorted(counted(here)) == sorted(counted(tmp_path / "a"))


def test_trial_that_two_workspaces_made_at_once_is_told_once(tmp_path: Path) -> None:
    study = OptunaStudy("s", f"sqlite:///{tmp_path}/trials.db", tiny_space(), FOUR)
    spec = study.choose(0, ())[0]
    made = [TrialResult(spec, "finished", score, ((1, score),), 48, 0.1, "h") for score in (1, 2)]
    study.keep(made[0])
    study.results = list  # type: ignore[method-assign]  # what the other saw before
    study.keep(made[1])
    del study.results

    assert [each.score for each in study.results()] == [1]


def test_study_in_a_real_postgresql_is_kept_shared_and_gone_on_with(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL is spoken to through psycopg")
    request = replace(tiny_study(settings=FOUR), storage=postgres.new_database())

    made = tune(request, tmp_path / "a")
    seen = tune(request, tmp_path / "b")
    longer = tune(replace(request, settings=replace(FOUR, trials=5)), tmp_path / "a")

    assert seen.results == made.results == longer.results[:4]
    assert len(longer.results) == 5
    assert counted(tmp_path / "b") == counted(tmp_path / "a")[:4]
    assert not (tmp_path / "a" / "tuning" / "first" / "study.db").exists()
