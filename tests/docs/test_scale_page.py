"""docs/concepts/scale.md: its tables are what the model reads, and what it computes.

Regenerate it with: .venv/bin/python tests/docs/test_scale_page.py
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tradingbot.cluster.scale import (
    SYMBOLS,
    ScaleAssumptions,
    gpus_needed,
    scale_row,
    search_seconds,
    stops_at,
    training_seconds,
)

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "concepts" / "scale.md"
REGENERATE = ".venv/bin/python tests/docs/test_scale_page.py"
MARK, END = f"<!-- scale: generated, run {REGENERATE} -->\n", "<!-- /scale -->\n"
ASSUMED = f"<!-- assumptions: generated, run {REGENERATE} -->\n"
ASSUMED_END = "<!-- /assumptions -->\n"
ORIGINS = ("Measured", "Counted", "Known", "Assumed")
GIVEN = ScaleAssumptions()
WORK: dict[str, Callable[[int], Callable[[int], tuple[float, str]]]] = {
    "search of 512 trainings": lambda symbols: partial(search_seconds, symbols, given=GIVEN),
    "one training, GPUs exchange": lambda symbols: partial(
        training_seconds, symbols, given=GIVEN, through_driver=False
    ),
    "one training, through the driver": lambda symbols: partial(
        training_seconds, symbols, given=GIVEN, through_driver=True
    ),
}


def render_table() -> str:
    lines = [
        "| work | symbols | 1 GPU | 8 GPUs | 64 GPUs | 512 GPUs | half speed up to | bound by |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, of in WORK.items():
        for symbols in SYMBOLS:
            seconds = of(symbols)
            fewest = gpus_needed(symbols, GIVEN)
            row = scale_row(seconds, fewest=fewest)
            cells = [
                "does not fit"
                if math.isnan(point.seconds)
                else f"{_number(point.seconds)} s ({point.efficiency_frac:.0%})"
                for point in row
            ]
            stop = stops_at(seconds, fewest)
            bound = seconds(2 * stop)[1]
            told = [name, f"{symbols:,}", *cells, f"{stop:,}", bound]
            lines.append(f"| {' | '.join(told)} |")
    return "\n".join(lines) + "\n"


def _number(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 100.0 else f"{seconds:.1f}"


def assumptions() -> dict[str, str]:
    """Return name → what its docstring says."""
    (record,) = ast.parse(inspect.getsource(ScaleAssumptions)).body
    assert isinstance(record, ast.ClassDef)
    pairs = zip(record.body, record.body[1:], strict=False)
    return {
        field.target.id: " ".join(ast.literal_eval(words.value).split())
        for field, words in pairs
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(words, ast.Expr)
    }


def render_assumptions() -> str:
    lines = ["| name | value | from where |", "|---|---|---|"]
    for name, words in assumptions().items():
        lines.append(f"| `{name}` | {getattr(GIVEN, name):,g} | {words} |")
    return "\n".join(lines) + "\n"


def render_page(text: str) -> str:
    return _filled(
        _filled(text, MARK, render_table(), END), ASSUMED, render_assumptions(), ASSUMED_END
    )


def _filled(text: str, mark: str, table: str, end: str) -> str:
    before, rest = text.split(mark)
    return before + mark + table + end + rest.split(end)[1]


def test_table_of_the_page_is_what_the_model_says() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert text == render_page(text), f"run {REGENERATE}"


def test_every_assumption_says_whether_it_was_measured() -> None:
    told = assumptions()

    assert list(told) == list(GIVEN.__dict__)
    assert [name for name, words in told.items() if not words.startswith(ORIGINS)] == []


def test_item_of_the_driver_takes_what_the_results_say() -> None:
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    (measured,) = re.findall(r"`ray_items_per_s`: empty items \| ([\d,]+) ", results)

    assert f"{measured} empty items a second" in assumptions()["item_s"]
    assert GIVEN.item_s / 1.5 < 1.0 / float(measured.replace(",", "")) <= GIVEN.item_s


if __name__ == "__main__":
    PAGE.write_text(render_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")
