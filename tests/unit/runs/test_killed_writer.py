"""SIGKILL at random instants of a writer: every time the run is whole, and it ends the same."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from fixtures.small_runs import CHECKPOINT_EVERY, fork_writer, make_run, write_run
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.seeding import stream
from tradingbot.runs import RunDirectory, final_hash, latest_good, list_checkpoints, read_journal

KILLS, UPDATES = 30, 90


def kill_writer(path: Path, seconds: float) -> bool:
    """Kill a writer after a while; tell whether it still ran."""
    child = fork_writer(path, UPDATES)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert not (path / "trouble").exists(), (path / "trouble").read_text()
    return os.WIFSIGNALED(status)


def assert_whole(run: RunDirectory) -> None:
    """A checkpoint loads, and rows are 1, 2, 3 … at least as far as it."""
    checkpoint, skipped = latest_good(run)
    assert skipped == ()
    rows = [row["update"] for row in read_journal(run.journal_path("metrics"))]
    assert rows == list(range(1, len(rows) + 1))
    if checkpoint is not None:
        assert len(rows) >= checkpoint.manifest.update == checkpoint.manifest.journals[
            "metrics"
        ].rows  # fmt: skip


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """The run that is never killed."""
    run = make_run(tmp_path_factory.mktemp("calm"))
    write_run(run.path, UPDATES)
    return run


def test_writer_killed_at_random_instants_ends_as_the_one_never_killed(
    calm: RunDirectory, tmp_path: Path
) -> None:
    run = make_run(tmp_path / "stormy")
    last = (calm.checkpoints / f"{UPDATES:08d}-final").stat().st_mtime
    whole_s = last - (calm.path / "run.json").stat().st_mtime
    killed, reached = 0, []

    for seconds in stream(3, "kills").uniform(0.0, 4.0 * whole_s / KILLS, KILLS):
        killed += kill_writer(run.path, float(seconds))
        assert_whole(run)
        reached.append(latest_good(run)[0].manifest.update if latest_good(run)[0] else 0)
    write_run(run.path, UPDATES)

    assert killed >= KILLS // 2, (killed, reached)
    assert sorted(reached) == reached
    expected, found = latest_good(calm)[0], latest_good(run)[0]
    assert found.manifest.update == UPDATES
    assert final_hash(found.training) == final_hash(expected.training)
    assert found.manifest.weights_sha256 == expected.manifest.weights_sha256
    metrics = [r.journal_path("metrics").read_bytes() for r in (run, calm)]
    assert metrics[0] == metrics[1]
    assert [f.name for f in list_checkpoints(run)] == [f.name for f in list_checkpoints(calm)]
    assert not [p for p in run.path.rglob("*") if p.name.startswith(".tmp-")]


def test_kill_between_row_and_checkpoint_writes_each_row_once(
    calm: RunDirectory, tmp_path: Path
) -> None:
    run = make_run(tmp_path / "torn")
    write_run(run.path, CHECKPOINT_EVERY * 5)
    path = run.journal_path("metrics")
    with path.open("a") as file:  # what a kill leaves: rows beyond the checkpoint, one torn
        file.write(json.dumps({"update": 16, "mean": 99.0}) + "\n" + '{"update": 17, "me')

    write_run(run.path, UPDATES)

    assert path.read_bytes() == calm.journal_path("metrics").read_bytes()


def test_writer_that_lives_keeps_others_out(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    child = fork_writer(run.path, 100_000)
    try:
        while not run.is_held():
            time.sleep(0.005)
        with pytest.raises(
            ConfigError, match=rf"must not be in use, was in use by process {child} "
        ):
            write_run(run.path, UPDATES)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    assert not run.is_held()
