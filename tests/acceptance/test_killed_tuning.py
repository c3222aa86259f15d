"""A study that is killed goes on where it was: no trial is lost, none is counted twice."""

from __future__ import annotations

import signal
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from fixtures.tiny_tuning import TRIALS, tiny_study, tune_arguments
from fixtures.warm_process import WarmProcess
from tradingbot.runs.ledger import Ledger
from tradingbot.tuning.session import open_study, tune

_PATIENCE_S = 300.0


def count_kept(workspace: Path) -> int:
    """Return how many trials are in the database, read as another process does."""
    file = workspace / "tuning" / "first" / "study.db"
    if not file.is_file():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            return int(database.execute("select count(*) from trials").fetchone()[0])
    except sqlite3.OperationalError:  # its tables are being made
        return 0


def kill_after(workspace: Path, count: int) -> None:
    """Begin or go on, and kill when so many trials are kept."""
    command = tune_arguments(workspace, "first", "--steps-share", "0.5", "--jobs", "1")
    with WarmProcess(command, environment={"OMP_NUM_THREADS": "1"}) as process:
        until = time.monotonic() + _PATIENCE_S
        while count_kept(workspace) < count:
            assert time.monotonic() < until
            assert process.poll() is None, process.communicate(1.0)
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL


def test_study_killed_twice_ends_with_the_trials_of_one_that_was_not(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    request = tiny_study()

    kill_after(killed, 1)
    kept = open_study(request, killed).results()
    kill_after(killed, 3)
    again = tune(request, killed)
    once = tune(request, whole)

    assert kept == list(again.results[: len(kept)])  # what was finished was not made again
    assert [replace(e, took_s=0.0) for e in again.results] == [
        replace(e, took_s=0.0) for e in once.results
    ]
    counted = [each for each in Ledger(killed).entries() if each.kind == "tuning"]
    assert len(counted) == len({each.config_hash for each in counted}) == TRIALS
    Ledger(killed).require_receipts()
    assert again.retrained[0].score == once.retrained[0].score
