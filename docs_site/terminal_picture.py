"""Draw what a command wrote to a terminal as an SVG file, line after line.

    FORCE_COLOR=1 COLUMNS=118 tradingbot demo > demo.txt
    python docs_site/terminal_picture.py demo.txt docs/images/terminal.svg --title "make demo"

The file stands alone: no font is fetched. Where motion is not wanted, all lines are there at once.
"""

from __future__ import annotations

import argparse
import io
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 122
LINE_S = 0.25
"""Seconds between two lines."""
_CURSOR = re.compile(r"\x1b\[(?:\?25[lh]|\d*[A-HJKf])|\r")
_FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_FONT = "font-family: Fira Code, monospace"
_OWN_FONT = "font-family: ui-monospace, Menlo, Consolas, monospace"
_LINE = re.compile(r'clip-path="url\(#[\w-]+-line-(\d+)\)"')
_MOTION = (
    "@media (prefers-reduced-motion: no-preference) {{"
    " @keyframes shown {{ from {{ opacity: 0 }} to {{ opacity: 1 }} }}"
    " .line {{ opacity: 0; animation: shown 0.1s linear forwards }} {delays} }}"
)


def drawn(text: str, title: str) -> str:
    """Return the picture of what a terminal shows."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(_CURSOR.sub("", text)), crop=False, no_wrap=True)
    svg = _FONT_FACE.sub("", console.export_svg(title=title)).replace(_FONT, _OWN_FONT)
    numbers = sorted({int(number) for number in _LINE.findall(svg)})
    delays = " ".join(f".l{each} {{ animation-delay: {each * LINE_S:.2f}s }}" for each in numbers)
    svg = _LINE.sub(lambda found: f'{found[0]} data-line="{found[1]}"', svg)
    svg = re.sub(r'class="([\w-]+)"([^>]*) data-line="(\d+)"', r'class="\1 line l\3"\2', svg)
    return svg.replace("</style>", _MOTION.format(delays=delays) + "</style>", 1)


def main() -> None:
    """Read a recording, write a picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--title", default="")
    given = parser.parse_args()
    given.picture.write_text(drawn(given.recording.read_text(), given.title), encoding="utf-8")


if __name__ == "__main__":
    main()
