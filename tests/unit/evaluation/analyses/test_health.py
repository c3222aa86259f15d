"""Health is what the flight recorder said; where it said nothing, there is none."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.sealed_runs import reseal
from tradingbot.domain.errors import StorageError
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.health import measure_health
from tradingbot.runs import RunDirectory


@pytest.fixture
def alone(subject: EvaluatedRun, tmp_path: Path) -> EvaluatedRun:
    """The run in a folder of its own, which may be changed."""
    folder = Path(shutil.copytree(subject.run.path, tmp_path / "runs" / "tiny"))
    return replace(subject, run=RunDirectory.open(folder))


def test_run_is_healthy_by_what_the_recorder_said_last(alone: EvaluatedRun) -> None:
    assert measure_health(AnalysisInputs(alone)).is_healthy

    journal = alone.run.journal_path("recorder")
    *before, last = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join([*before, last.replace('"healthy":true', '"healthy":false')]))
    reseal(alone.run.path)
    assert not measure_health(AnalysisInputs(alone)).is_healthy


def test_run_without_a_row_of_the_recorder_is_unhealthy(alone: EvaluatedRun) -> None:
    alone.run.journal_path("recorder").write_text("")
    reseal(alone.run.path)
    assert not measure_health(AnalysisInputs(alone)).is_healthy


def test_journal_that_is_gone_is_refused(alone: EvaluatedRun) -> None:
    alone.run.journal_path("recorder").unlink()
    with pytest.raises(StorageError, match=r"as training left them, was missing.*recorder\.jsonl"):
        measure_health(AnalysisInputs(alone))
