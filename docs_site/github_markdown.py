"""Let pages that are written for GitHub render alike here: fences, lists, tables, diagrams.

Words after a fence's language belong to the tests (`tests/docs/test_examples.py`). GitHub starts a
list or a table without an empty line before it; Python-Markdown needs one. Mermaid, which would
be drawn by a script from elsewhere, is shown as text: the drawings beside it are SVG files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_FENCE = re.compile(r"^(?P<indent>\s*)```(?P<language>[\w-]*)(?P<words>.*)$")
_ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d+[.)])\s+\S")
_ROW = re.compile(r"^\|.*\|\s*$")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Rewrite one page."""
    return "\n".join(rewritten(markdown.splitlines())) + "\n"


def rewritten(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a page as Python-Markdown needs them."""
    is_code, before = False, ""
    for line in lines:
        fence = _FENCE.match(line)
        if fence is not None:
            is_code = not is_code
            language = "text" if fence["language"] == "mermaid" else fence["language"]
            yield f"{fence['indent']}```{language}"
        else:
            if not is_code and _needs_gap(before, line):
                yield ""
            yield line
        before = line


def _needs_gap(before: str, line: str) -> bool:
    """Whether a list or a table begins right below a paragraph."""
    if not before.strip() or before.startswith((" ", "#", "<!--")):
        return False
    for kind in (_ITEM, _ROW):
        if kind.match(line) and not kind.match(before):
            return not (kind is _ITEM and line.startswith(" "))
    return False
