"""The picture of growth with symbols is that of the recorded table."""

from __future__ import annotations

import json
import re
import runpy
from html import unescape
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = runpy.run_path(str(ROOT / "benchmarks" / "symbol_scale.py"), run_name="loaded")
ROWS = SCRIPT["recorded_rows"]((ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8"))


def rows_of(picture: Path) -> list[dict[str, float]]:
    text = picture.read_text(encoding="utf-8")
    (told,) = re.findall(r"<dc:description>(.*?)</dc:description>", text, flags=re.DOTALL)
    return json.loads(unescape(told))


def test_recorded_table_has_every_size_and_stage() -> None:
    assert [row["symbols"] for row in ROWS] == list(SCRIPT["SIZES"])
    assert {tuple(row) for row in ROWS} == {SCRIPT["COLUMNS"]}
    assert ROWS[-1]["peak_mb"] == 3_266.0


def test_picture_shows_what_is_recorded() -> None:
    assert rows_of(SCRIPT["PICTURE"]) == ROWS, "run benchmarks/symbol_scale.py --draw"
    assert SCRIPT["PICTURE"].stat().st_size < 60_000


def test_rows_are_drawn_with_their_names(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    SCRIPT["draw"](ROWS[:2], tmp_path / "two.svg")

    assert rows_of(tmp_path / "two.svg") == ROWS[:2]
    text = (tmp_path / "two.svg").read_text(encoding="utf-8")
    for words in ("bars and features", "one validation", "synthetic", "symbols"):
        assert words in text
