"""docs/reference/python.md lists what `import tradingbot as tb` offers; it is written from it.

Regenerate it with: .venv/bin/python tests/docs/test_python_page.py
"""

from __future__ import annotations

import inspect
from pathlib import Path

import tradingbot as tb

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "python.md"
HEAD = """# Python

What `import tradingbot as tb` offers; written by `tests/docs/test_python_page.py`.
[How to use it](../how_to/python_api.md) · [parts of your own](../how_to/plugins.md).
`help(tb.backtest)` shows every argument.
"""


def written() -> str:
    """The page as the package says it."""
    lines = [HEAD]
    for name in sorted(tb.__all__, key=lambda each: (not each[0].islower(), each.lower())):
        if name == "__version__":
            continue
        part = getattr(tb, name)
        (first, *_) = inspect.getdoc(part).split("\n\n")  # type: ignore[union-attr]
        if inspect.isclass(part):
            own = [
                member
                for member, value in vars(part).items()
                if not member.startswith("_") and (callable(value) or hasattr(value, "__get__"))
            ]
            lines.append(f"## `tb.{name}`\n\n{' '.join(first.split())}\n")
            lines.append(f"Members: {', '.join(f'`{member}`' for member in own)}.\n")
            continue
        names = [
            f"{parameter.name}" if parameter.kind is not parameter.VAR_KEYWORD else "…"
            for parameter in inspect.signature(part).parameters.values()
        ]
        lines.append(f"## `tb.{name}({', '.join(names)})`\n\n{' '.join(first.split())}\n")
    return "\n".join(lines)


def test_page_is_what_the_package_offers() -> None:
    assert PAGE.read_text(encoding="utf-8") == written()


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(PAGE.parents[2])}")  # noqa: T201
