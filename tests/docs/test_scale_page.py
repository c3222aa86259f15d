"""docs/concepts/scale.md: its table is computed by the model.

Regenerate it with: .venv/bin/python tests/docs/test_scale_page.py
"""

from __future__ import annotations

import math
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


def render_page(text: str) -> str:
    before, rest = text.split(MARK)
    return before + MARK + render_table() + END + rest.split(END)[1]


def test_table_of_the_page_is_what_the_model_says() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert text == render_page(text), f"run {REGENERATE}"


if __name__ == "__main__":
    PAGE.write_text(render_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")
