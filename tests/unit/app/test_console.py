from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest
from pydantic import BaseModel

from tradingbot.app import console
from tradingbot.app.console import as_json, print_json, print_table, progress_bar
from tradingbot.domain.timeframe import BarGrid


@dataclass
class Row:
    name: str
    sharpe: float


class Model(BaseModel):
    day: date
    folder: Path


def test_print_json_writes_one_document_without_nan(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(
        {
            "row": Row("ü", float("nan")),
            "model": Model(day=date(2025, 1, 2), folder=Path("a b")),
            "array": np.array([1.5, np.inf, -np.inf]),
            "scalar": np.float64(2.5),
            "count": np.int64(3),
            "flag": np.bool_(True),
            "grid": BarGrid.CLOCK,
            "at": datetime(2025, 1, 2, tzinfo=UTC),
            "set": {"b", "a"},
            3: None,
        }
    )

    captured = capsys.readouterr()
    assert captured.err == ""
    assert json.loads(captured.out, parse_constant=lambda name: pytest.fail(name)) == {
        "row": {"name": "ü", "sharpe": None},
        "model": {"day": "2025-01-02", "folder": "a b"},
        "array": [1.5, None, None],
        "scalar": 2.5,
        "count": 3,
        "flag": True,
        "grid": "clock",
        "at": "2025-01-02T00:00:00+00:00",
        "set": ["a", "b"],
        "3": None,
    }


@pytest.mark.parametrize("value", [object(), b"bytes", 1j])
def test_as_json_unknown_kind_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="no JSON form"):
        as_json(value)


def test_print_table_off_terminal_is_plain_and_literal(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("T", ["name", "n"], [("[red]x[/red]", 1234567), ("y", float("nan"))])

    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "[red]x[/red]" in text
    assert "1,234,567" in text
    assert "–" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_print_table_breaks_no_cell_on_a_narrow_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(console, "_WIDTH_WITHOUT_TERMINAL", width)
    columns = [f"figure {number}" for number in range(8)]
    cells = [f"{number}.25 [-{number}.50, {number}.75]" for number in range(8)]

    print_table("Title", ["policy", *columns], [("buy & hold", *cells)], caption="C")

    lines = capsys.readouterr().out.splitlines()
    text = "\n".join(lines)
    assert max(map(len, lines)) <= width
    assert all(each in text for each in (*columns, *cells))  # on one line each
    assert text.count("buy & hold") == text.count("policy") > 1
    assert (text.count("Title"), lines[-1].strip()) == (1, "C")


def test_progress_says_how_long_it_will_still_take(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 10.0, 300.0])
    monkeypatch.setattr(console.time, "monotonic", lambda: next(now))
    left = console._TimeLeft()

    assert left.words(4, 10) == ""  # four were there before
    assert left.words(5, 10) == "about 50 s left"
    assert left.words(6, 10) == "about 10 min left"
    assert left.words(10, 10) == ""


def test_print_table_without_rows_shows_the_head(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("T", ["name"], [])

    assert "name" in capsys.readouterr().out


def test_progress_bar_off_terminal_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("import") as report:
        report(1, 10, "AAPL")

    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


def test_progress_bar_on_terminal_writes_to_stderr(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")

    with progress_bar("import") as report:
        report(0, 0, "")
        report(10, 10, "AAPL [x]")

    captured = capsys.readouterr()
    assert "import: AAPL [x]" in captured.err
    assert "10/10" in captured.err
    assert captured.out == ""


def test_progress_shape_is_that_of_sources() -> None:
    from tradingbot.data.sources import source

    assert console.Progress == source.Progress == Callable[[int, int, str], None]
