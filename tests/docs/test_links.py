"""Every relative link and anchor resolves, and every page can be reached from docs/README.md."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
INDEX = ROOT / "docs" / "README.md"
PAGES = sorted(
    path
    for path in (
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
        *(ROOT / "docs").rglob("*.md"),
    )
    if path.exists()
)
_LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_REFERENCE = re.compile(r"^\s*\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
_HTML = re.compile(r"(?:href|src)=\"([^\"]+)\"")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
_OUTSIDE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def prose_of(text: str) -> str:
    """The page without code, where square brackets mean something else."""
    kept, inside = [], False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            kept.append(line)
    return re.sub(r"``[^`]*``|`[^`\n]*`", "``", "\n".join(kept))


def links_of(text: str) -> Iterator[str]:
    """Yield the target of every link, picture and reference that stays in the project."""
    prose = prose_of(text)
    for pattern in (_LINK, _REFERENCE, _HTML):
        for target in pattern.findall(prose):
            if not _OUTSIDE.match(target) and not target.startswith("//"):
                yield target


def anchors_of(text: str) -> set[str]:
    """Names of the headings, as GitHub makes them; repeats get a number."""
    without_code = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    seen: dict[str, int] = {}
    anchors = set()
    for heading in _HEADING.findall(without_code):
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        kept = (c for c in words if c in " -_" or unicodedata.category(c)[0] in ("L", "N", "M"))
        name = "".join(kept).replace(" ", "-")
        anchors.add(f"{name}-{seen[name]}" if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return anchors | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))


def broken_links(page: Path) -> list[str]:
    """Say what is wrong with each link of a page that leads nowhere."""
    problems = []
    for target in links_of(page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        there = (page.parent / unquote(path)).resolve() if path else page
        if not there.exists():
            problems.append(f"{target}: no such file")
        elif ROOT not in there.parents and there != ROOT and page.is_relative_to(ROOT):
            problems.append(f"{target}: outside the project")
        elif anchor and there.suffix != ".md":
            problems.append(f"{target}: an anchor needs a page")
        elif anchor and unquote(anchor) not in anchors_of(there.read_text(encoding="utf-8")):
            problems.append(f"{target}: no such heading")
    return problems


def reachable_from(index: Path) -> set[Path]:
    """Pages that can be reached by following links of pages in the index's folder or below.

    A page elsewhere counts as reached but leads no further: readers of the index stay there.
    """
    found, pending = {index}, [index]
    while pending:
        page = pending.pop()
        for target in links_of(page.read_text(encoding="utf-8")):
            there = (page.parent / unquote(target.partition("#")[0])).resolve()
            if there.suffix == ".md" and there.exists() and there not in found:
                found.add(there)
                pending += [there] if there.is_relative_to(index.parent) else []
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_of_page_resolve(page: Path) -> None:
    assert broken_links(page) == []


def test_every_page_is_reachable_from_the_index() -> None:
    lost = set(PAGES) - reachable_from(INDEX)

    assert sorted(page.relative_to(ROOT).as_posix() for page in lost) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[a](nowhere.md)", "nowhere.md: no such file"),
        ("![a](picture.png)", "picture.png: no such file"),
        ('<img src="picture.png">', "picture.png: no such file"),
        ("[a]\n\n[a]: nowhere.md", "nowhere.md: no such file"),
        ("[a](other.md#gone)", "other.md#gone: no such heading"),
        ("[a](#gone)", "#gone: no such heading"),
        ("[a](other.md#inside-code)", "other.md#inside-code: no such heading"),
    ],
)
def test_link_that_leads_nowhere_is_found(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Real\n\n```text\n# Inside code\n```\n")
    page = tmp_path / "page.md"
    page.write_text(text + "\n")

    assert broken_links(page) == [problem]


def test_links_that_lead_somewhere_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "my other.md").write_text("# `data import`: α & β\n\n## Twice\n\n## Twice\n")
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n\n[a](my%20other.md) [b](my%20other.md#data-import-α--β) [c](#here)\n"
        "[d](<my%20other.md#twice-1>) [e](https://example.org/x.md) `[f](gone.md)`\n\n"
        "```python\nx[0](gone.md)\n```\n"
    )

    assert broken_links(page) == []


def test_page_without_a_link_to_it_is_not_reachable(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("[a](a.md) [top](../top.md)\n")
    (docs / "a.md").write_text("[b](b.md#there)\n")
    (docs / "b.md").write_text("# There\n")
    (docs / "lost.md").write_text("[index](index.md)\n")
    (docs / "aside.md").write_text("Only the page above leads here.\n")
    (tmp_path / "top.md").write_text("[aside](docs/aside.md)\n")

    found = {page.name for page in reachable_from(docs / "index.md")}

    assert found == {"index.md", "a.md", "b.md", "top.md"}
