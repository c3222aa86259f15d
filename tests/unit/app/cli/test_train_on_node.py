"""`train --on-node`: what it must stand with, what is told, and what an interruption leaves."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.tiny_training import tiny_arguments, tiny_config
from tradingbot.app.cli import train
from tradingbot.app.cli.application import run
from tradingbot.app.cli.train_on_node import order_training, require_node
from tradingbot.domain.errors import ConfigError
from tradingbot.executors.executor import (
    Executor,
    InlineExecutor,
    OpenWork,
    Outcome,
    Progress,
)
from tradingbot.runs import list_runs
from tradingbot.training.divided_work import require_divided


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


def test_workspace_in_an_object_store_is_refused() -> None:
    mirrored: Any = SimpleNamespace(mirror=object(), workspace=Path("w"))

    with pytest.raises(ConfigError, match="--on-node must have a workspace that every node"):
        require_node(mirrored, here, None)


@pytest.mark.parametrize("force", [True, False])
def test_resumed_run_is_forced_where_that_is_asked_for(force: bool) -> None:
    run_of_it: Any = SimpleNamespace(id="first")

    order = order_training(tiny_config(), Path("w"), None, run_of_it, force=force)

    assert (order.name, order.begins, order.force) == ("first", False, force)


IMPALA: dict[str, object] = {"learner__name": "impala", "learner__impala__rollout_steps": 12}
IMPALA |= {"learner__impala__actors": 2}
PRETRAINED: dict[str, object] = {"encoder__preset": "tiny", "pretraining__shards": 2}


@pytest.mark.parametrize(
    ("options", "begins", "divides"),
    [
        (IMPALA, True, True),
        (IMPALA, False, True),
        (IMPALA | {"learner__impala__in_processes": False}, True, False),
        ({}, True, False),
        (PRETRAINED, True, True),
        (PRETRAINED, False, False),
        (PRETRAINED | {"device": "cuda"}, True, False),
        ({"encoder__preset": "tiny"}, True, False),
    ],
)
def test_cluster_is_refused_where_nothing_of_a_training_would_use_it(
    options: dict[str, object], begins: bool, divides: bool
) -> None:
    with nullcontext() if divides else pytest.raises(ConfigError, match="that divides its work"):
        require_divided(tiny_config(**options), begins=begins)


def test_option_that_would_do_nothing_is_refused_with_what_would_use_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "token").write_text("t")
    ray = ["--executor", "ray", "--address", "h:1", "--token-file", str(tmp_path / "token")]

    assert run(tiny_arguments(tmp_path / "w", *ray)) == 2

    told = capsys.readouterr().err
    assert "was learner direct, all of which is done in this process. Add --on-node" in told
    assert list_runs(tmp_path / "w" / "runs") == []
