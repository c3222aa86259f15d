"""`tradingbot demo`: its exit code says whether everything was proved and ready."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tradingbot.app.demo import story as demo

TINY = """
extends: quick
market:
  name: planted
  start: 2025-04-01
proof:
  common_rounds: 1
  staggered_rounds: 1
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "tiny.yaml").write_text(TINY)
    return str(tmp_path / "tiny.yaml")


def test_demo_without_a_certificate_leaves_with_1(
    call, config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = demo.run_demo
    monkeypatch.setattr(demo, "run_demo", lambda *a, **k: replace(real(*a, **k), certificate=None))

    answer = call("demo", "--config", config, "--json")

    assert answer.code == 1
    assert answer.document["certificate_sha256"] is None
    assert Path(answer.document["page"]).is_file()


def test_demo_too_short_is_refused_in_one_line(call, tmp_path: Path) -> None:
    (tmp_path / "short.yaml").write_text(TINY.replace("2025-04-01", "2025-09-29"))

    answer = call("demo", "--config", str(tmp_path / "short.yaml"))

    assert answer.code == 2
    assert answer.err.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in answer.err
