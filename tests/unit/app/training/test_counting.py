from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fixtures.tiny_training import tiny_config
from tradingbot.app.training.counting import data_key
from tradingbot.app.training.results import AGENTS
from tradingbot.app.training.session import begin_run, resume_session
from tradingbot.domain.errors import StorageError
from tradingbot.runs.ledger import LEDGER_FILE, Ledger


def test_training_is_counted_once_with_its_result(tmp_path: Path) -> None:
    session = begin_run(tiny_config(), tmp_path)
    assert session.result is not None
    (trial,) = Ledger(tmp_path).trials(data_key(session.run.record.data))
    assert trial.run == session.run.id
    figures = session.result.parts[-1].policy(AGENTS)
    assert figures is not None
    assert trial.sharpe_per_bar is not None
    annual = figures.sharpe_annual.estimate
    assert trial.sharpe_per_bar * annual >= 0.0
    assert abs(trial.sharpe_per_bar) <= abs(annual)

    resume_session(session.run.id, tmp_path)
    assert len(Ledger(tmp_path).trials(trial_data := data_key(session.run.record.data))) == 1

    shutil.rmtree(session.run.path)
    assert len(Ledger(tmp_path).trials(trial_data)) == 1


def test_interrupted_training_is_counted_though_it_has_no_result(tmp_path: Path) -> None:
    from tradingbot.app.training.session import Listeners

    session = begin_run(tiny_config(), tmp_path, Listeners(interrupted=lambda: True))
    assert session.result is None
    (trial,) = Ledger(tmp_path).trials(data_key(session.run.record.data))
    assert trial.sharpe_per_bar is None


def test_run_is_not_resumed_beside_a_ledger_that_was_cut(tmp_path: Path) -> None:
    from tradingbot.app.training.session import Listeners

    session = begin_run(tiny_config(), tmp_path, Listeners(interrupted=lambda: True))
    (tmp_path / LEDGER_FILE).unlink()
    with pytest.raises(StorageError, match="ledger of trials"):
        resume_session(session.run.id, tmp_path)
