"""Show examples in docstrings as code: a block of `>>>` lines and what they print."""

from __future__ import annotations

from typing import Any

import griffe


class FencedDoctests(griffe.Extension):
    """Put a fence around every doctest before the docstring is read as Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of one object, if it has an example."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Return a docstring with a fence around each doctest; an empty line ends one."""
    lines: list[str] = []
    margin: str | None = None
    for line in [*text.splitlines(), ""]:
        bare = line.lstrip()
        if margin is None and bare.startswith(">>> "):
            margin = line[: len(line) - len(bare)]
            lines.append(f"{margin}```pycon")
        elif margin is not None and not bare:
            lines.append(f"{margin}```")
            margin = None
        lines.append(line)
    return "\n".join(lines).rstrip()
