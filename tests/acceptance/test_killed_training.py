"""T01, T02, T03: a training run that is killed at any moment resumes bit-identically."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.run_bits import fingerprint
from fixtures.tiny_portfolio import JOINT, MASTER, begin_agents
from fixtures.tiny_training import tiny_arguments, tiny_config
from fixtures.warm_process import WarmProcess
from tradingbot.app.cli.application import run as run_command
from tradingbot.runs import RunDirectory, read_journal
from tradingbot.training import session
from tradingbot.training.session import begin_run, resume_session

Event = dict[str, object]


@contextmanager
def training(arguments: list[str]) -> Iterator[WarmProcess]:
    with WarmProcess([*arguments, "--json"], environment={"OMP_NUM_THREADS": "1"}) as process:
        try:
            yield process
        finally:
            process.kill()


def kill_at(arguments: list[str], when: Callable[[Event], bool]) -> None:
    returned, said = strike(arguments, when, signal.SIGKILL)
    assert returned == -signal.SIGKILL, said


def strike(
    arguments: list[str], when: Callable[[Event], bool], number: signal.Signals
) -> tuple[int, str]:
    """Send a signal at the first event for which it is time; return exit code and stderr."""
    with training(arguments) as process:
        for line in process.stdout:
            if when(json.loads(line)):
                process.send_signal(number)
                break
        _, said = process.communicate(timeout=120)
        return process.returncode, said


def updated(sequence: int) -> Callable[[Event], bool]:
    return lambda event: event["event"] == "Updated" and event["sequence"] == sequence


def saved(sequence: int) -> Callable[[Event], bool]:
    return lambda event: event["event"] == "Saved" and event["sequence"] == sequence


def resumed(workspace: Path, run: str = "killed") -> list[str]:
    return ["--workspace", str(workspace), "train", "--resume", run]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """The run that was never killed."""
    return begin_run(tiny_config(), tmp_path_factory.mktemp("whole"), name="whole").run


def test_run_killed_again_and_again_ends_with_the_same_bits(
    tmp_path: Path, whole: RunDirectory
) -> None:
    begin = tiny_arguments(tmp_path, "--name", "killed")
    # Between two checkpoints; at one; and, with a torn checkpoint, between two again.
    kill_at(begin, updated(5))
    kill_at(resumed(tmp_path), saved(6))
    torn = tmp_path / "runs" / "killed" / "checkpoints" / ".tmp-0-torn"
    torn.mkdir()
    (torn / "agent.safetensors").write_bytes(b"half")
    kill_at(resumed(tmp_path), updated(11))

    last = resume_session("killed", tmp_path)

    assert fingerprint(last.run) == fingerprint(whole)
    assert [row["sequence"] for row in read_journal(last.run.journal_path("metrics"))] == [
        *range(1, 13)
    ]
    status = last.run.status()
    assert status.state == "finished"
    assert len(status.resumptions) == 3
    assert not torn.exists()


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)],
    ids=["TERM", "INT"],
)
def test_run_asked_to_stop_saves_leaves_and_goes_on_to_the_same_bits(
    tmp_path: Path, whole: RunDirectory, number: signal.Signals, code: int
) -> None:
    returned, said = strike(tiny_arguments(tmp_path, "--name", "killed"), updated(7), number)
    run = RunDirectory.open(tmp_path / "runs" / "killed")

    assert returned == code
    assert "train --resume killed" in said
    assert "Traceback" not in said
    assert run.status().state == "interrupted"

    assert fingerprint(resume_session("killed", tmp_path).run) == fingerprint(whole)


def test_run_asked_to_stop_while_it_is_judged_leaves_at_once_and_is_judged_when_resumed(
    tmp_path: Path,
    whole: RunDirectory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    judged = list[str]()

    def stop(*given: object, **options: object) -> object:
        os.kill(os.getpid(), signal.SIGTERM)
        judged.append("went on")
        return judge(*given, **options)

    judge = session.judge_result
    with monkeypatch.context() as patched:
        patched.setattr(session, "judge_result", stop)
        code = run_command(tiny_arguments(tmp_path, "--name", "killed"))

    assert (code, judged) == (143, [])
    assert "train --resume killed" in capsys.readouterr().err
    assert RunDirectory.open(tmp_path / "runs" / "killed").status().state == "interrupted"
    assert fingerprint(resume_session("killed", tmp_path).run) == fingerprint(whole)


def test_another_seed_gives_other_bits(tmp_path: Path, whole: RunDirectory) -> None:
    other = begin_run(tiny_config(seed=6), tmp_path, name="other").run

    assert fingerprint(other)["weights"] != fingerprint(whole)["weights"]


@pytest.mark.slow
def test_run_killed_at_random_moments_ends_with_the_same_bits(
    tmp_path: Path, whole: RunDirectory
) -> None:
    arguments = tiny_arguments(tmp_path, "--name", "killed")
    for attempt in range(8):
        with training(arguments) as process:
            process.stdout.readline()  # it has begun; before, there is nothing to lose
            try:
                process.communicate(timeout=0.05 + 0.31 * attempt)
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
        arguments = resumed(tmp_path)

    assert fingerprint(resume_session("killed", tmp_path).run) == fingerprint(whole)


def test_sleeves_agents_that_learn_with_a_master_are_killed_and_end_with_the_same_bits(
    tmp_path: Path,
) -> None:
    begin_agents(tmp_path, **{"validation.shrink": False})
    whole = begin_run(tiny_config(**MASTER, **JOINT), tmp_path, name="whole").run
    settings = [
        part for key, value in (MASTER | JOINT).items() for part in ("--set", f"{key}={value}")
    ]
    begin = tiny_arguments(tmp_path, "--name", "killed", *settings)
    # In the middle of a turn's two updates of agents, just after it, and before the last.
    kill_at(begin, updated(4))
    kill_at(resumed(tmp_path), lambda event: event["event"] == "SleevesCompared")
    kill_at(resumed(tmp_path), updated(11))

    last = resume_session("killed", tmp_path)

    assert fingerprint(last.run) == fingerprint(whole)
