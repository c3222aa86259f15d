"""`tradingbot demo`: what it refuses."""

from __future__ import annotations

from pathlib import Path

SHORT = """
extends: quick
market:
  name: planted
  start: 2025-09-29
"""


def test_demo_too_short_is_refused_in_one_line(call, tmp_path: Path) -> None:
    (tmp_path / "short.yaml").write_text(SHORT)

    answer = call("demo", "--config", str(tmp_path / "short.yaml"))

    assert answer.code == 2
    assert answer.err.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in answer.err
