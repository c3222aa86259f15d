"""The command line, run in this process on a workspace of small synthetic datasets."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tradingbot.app.cli.application import run
from tradingbot.data.store import BarStore


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document it must be."""
        return json.loads(self.out)


@pytest.fixture
def workspace(synthetic_store: BarStore, tmp_path: Path) -> Path:
    """A copy of the synthetic store."""
    return Path(shutil.copytree(synthetic_store.root, tmp_path / "workspace"))


@pytest.fixture
def call(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run a command on that workspace."""

    def invoke(*arguments: str) -> Answer:
        capsys.readouterr()
        code = run(["--workspace", str(workspace), *arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return invoke
