"""Facts about machine and sources: what is known is said, what is not is left out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch

from tradingbot.runs.environment import describe_environment, git_state
from tradingbot.runs.record import GitState


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e@x", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_commit_and_whether_files_differ_from_it(tmp_path: Path) -> None:
    assert git_state(tmp_path) == GitState()
    git(tmp_path, "init", "-q")
    (tmp_path / "code.py").write_text("first")
    git(tmp_path, "add", "code.py")
    git(tmp_path, "commit", "-q", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")

    (tmp_path / "notes").write_text("of nobody's business")
    assert git_state(tmp_path) == GitState(commit=commit, dirty=False)
    (tmp_path / "code.py").write_text("second")
    assert git_state(tmp_path) == GitState(commit=commit, dirty=True)


def test_git_that_is_not_there_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state() == GitState()


def test_machine_is_described_with_its_gpu_where_that_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = describe_environment()
    assert facts["device"] == "cpu"
    assert facts["torch"] == str(torch.__version__)
    assert int(facts["cpus"]) >= 1
    assert facts["cpu"]
    assert "gpu" not in facts

    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"card of {device}")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert describe_environment("cuda:1")["gpu"] == "card of cuda:1"
    assert "gpu" not in describe_environment("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "gpu" not in describe_environment("cuda:1")
