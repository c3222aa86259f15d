"""Pictures of the documents: small, alone, and what the terminal shows is what was measured."""

from __future__ import annotations

import re
import sys
from html import unescape
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
IMAGES = sorted((ROOT / "docs" / "images").iterdir())
LARGEST_BYTES = 500_000
sys.path.insert(0, str(ROOT / "docs_site"))

import terminal_picture  # noqa: E402 - beside the hooks of the site, no package


def words_of(svg: str) -> str:
    """Everything that a drawing writes, one space between words."""
    found = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))
    return " ".join(unescape(found).replace("\xa0", " ").split())


@pytest.mark.parametrize("path", IMAGES, ids=lambda path: path.name)
def test_picture_is_small_and_fetches_nothing(path: Path) -> None:
    assert path.stat().st_size < LARGEST_BYTES
    if path.suffix == ".svg":
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"@import|@font-face|url\(['\"]?http|href=\"http", text) == []


def test_every_picture_is_shown_somewhere() -> None:
    pages = "".join(
        page.read_text(encoding="utf-8")
        for page in (
            ROOT / "README.md",
            ROOT / "benchmarks" / "RESULTS.md",
            *(ROOT / "docs").rglob("*.md"),
        )
    )

    assert [path.name for path in IMAGES if f"images/{path.name}" not in pages] == []


def test_terminal_shows_the_demo_that_the_figures_tell() -> None:
    page = (ROOT / "docs" / "results" / "figures.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"```text\n(Demo.*?)```", page, flags=re.DOTALL)
    drawing = (ROOT / "docs" / "images" / "terminal.svg").read_text(encoding="utf-8")

    shown, told = (re.sub(r"[^\w.,]+", " ", words) for words in (words_of(drawing), table))

    assert told.strip() in shown


def test_drawing_of_a_terminal_stands_alone_and_comes_line_by_line() -> None:
    svg = terminal_picture.drawn("\x1b[?25l$ one\n\x1b[1mtwo\x1b[0m\n", "title")

    assert "@font-face" not in svg
    assert words_of(svg) == "title $ one two"
    assert ".l0 { animation-delay: 0.00s } .l1 { animation-delay: 0.25s }" in svg
    assert {"0", "1"} <= set(re.findall(r'class="[\w-]+ line l(\d)"', svg))
