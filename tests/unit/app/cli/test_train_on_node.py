"""`train --on-node`: what it must stand with, what is told, and what an interruption leaves."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.tiny_training import tiny_arguments
from tradingbot.app.cli import train
from tradingbot.app.cli.application import run
from tradingbot.executors.executor import (
    Executor,
    InlineExecutor,
    OpenWork,
    Outcome,
    Progress,
)
from tradingbot.runs import list_runs


class Interrupted(InlineExecutor):
    """Ctrl-C comes as soon as something is waited for."""

    def wait(self, progress: Progress) -> Outcome:
        os.kill(os.getpid(), signal.SIGINT)
        return super().wait(progress)


@contextmanager
def here(open_work: OpenWork, count: int) -> Iterator[Executor]:
    yield InlineExecutor(open_work())


@contextmanager
def interrupted(open_work: OpenWork, count: int) -> Iterator[Executor]:
    yield Interrupted(open_work())


def test_run_is_trained_by_the_worker_and_its_result_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(train, "choose_workers", lambda *_: here)

    assert run(tiny_arguments(tmp_path, "--on-node", "--json")) == 0

    (line,) = capsys.readouterr().out.splitlines()
    told = json.loads(line)
    (folder,) = list_runs(tmp_path / "runs")
    assert told["run"] == folder.name
    assert folder.name.split("-")[2] == "direct"
    assert told["result"]["parts"][0]["part"] == "validation"
    elsewhere = ["--workspace", str(tmp_path / "other"), "train", "--resume", str(folder)]
    assert run([*elsewhere, "--on-node"]) == 2
    assert "--on-node must resume a run of the workspace" in capsys.readouterr().err


def test_interruption_ends_the_worker_and_names_what_is_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(train, "choose_workers", lambda *_: interrupted)

    assert run(tiny_arguments(tmp_path, "--on-node", "--name", "first")) == 130

    assert "Interrupted before the run began: nothing was stored" in capsys.readouterr().err
    assert list_runs(tmp_path / "runs") == []


def test_node_without_a_cluster_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tiny_arguments(tmp_path, "--on-node")) == 2

    assert (
        "--on-node must stand with --executor ray, was --on-node alone" in capsys.readouterr().err
    )
