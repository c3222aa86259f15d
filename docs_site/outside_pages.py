"""Bring pages from outside of `docs/` into the site, and let links to them lead there.

`README.md` and its neighbours become pages under `project/`; any other file that a page links to
(a module, a script, the licence) becomes a page under `source/` that shows it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "README.md": "project/readme.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/RESULTS.md": "project/benchmarks.md",
    "examples/README.md": "tutorials/examples.md",
}
"""File of the repository → page of the site."""
_LINK = re.compile(
    r"(?P<head>\]\(\s*<?|(?:href|src)=\")(?P<target>[^)\s\">#]+)(?P<rest>#[^)\s\">]*)?"
)
_CODE = re.compile(r"(^ *```.*?^ *```[ ]*$|``[^`]*``|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
_OUTSIDE = re.compile(r"^([a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the pages to the navigation."""
    pages = [uri for source, uri in PAGES.items() if (ROOT / source).is_file()]
    config.extra.setdefault("generated_pages", []).extend(pages)
    return config


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the pages from outside, and every file that some page links to."""
    for source, uri in PAGES.items():
        path = ROOT / source
        if path.is_file():
            files.append(File.generated(config, uri, content=path.read_text(encoding="utf-8")))
    for source in sorted(_linked_sources(files)):
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(
            File.generated(
                config,
                source_page(source),
                content=shown_source(source, text),
                inclusion=InclusionLevel.NOT_IN_NAV,
            )
        )
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Rewrite the links of a page that leave `docs/`, or come from outside of it."""
    return with_links(markdown, page.file.src_uri)


def with_links(markdown: str, uri: str, here: PurePosixPath | None = None) -> str:
    """Return a page's text with every relative link as the site has it; `here`: its origin."""
    here = here or place_of(uri)
    if here is None:
        return markdown
    parts = _CODE.split(markdown)
    parts[::2] = [_LINK.sub(lambda found: _relinked(found, here, uri), part) for part in parts[::2]]
    return "".join(parts)


def place_of(uri: str) -> PurePosixPath | None:
    """Return where in the repository a page of the site comes from; none if it is generated."""
    origins = {page: source for source, page in PAGES.items()}
    if uri in origins:
        return PurePosixPath(origins[uri])
    return PurePosixPath("docs") / uri if (ROOT / "docs" / uri).is_file() else None


def source_page(source: str) -> str:
    """Return the page that shows a file."""
    return f"source/{source}.md"


def shown_source(source: str, text: str) -> str:
    """Write the page that shows a file."""
    return f"# `{source}`\n\n```{_LANGUAGES.get(Path(source).suffix, 'text')}\n{text}\n```\n"


def _relinked(found: re.Match[str], here: PurePosixPath, uri: str) -> str:
    target = _resolved(here, found["target"])
    if target is None:
        return found[0]
    there = _page_of(target)
    relative = os.path.relpath(there, PurePosixPath(uri).parent)
    return f"{found['head']}{relative}{found['rest'] or ''}"


def _resolved(here: PurePosixPath, target: str) -> str | None:
    """Return the file of the repository that a link means; none for an address."""
    if _OUTSIDE.match(target):
        return None
    return os.path.normpath(here.parent / target)


def _page_of(source: str) -> str:
    if source in PAGES:
        return PAGES[source]
    if source.startswith("docs/"):
        return source.removeprefix("docs/")
    if source.endswith(".ipynb"):
        return f"tutorials/notebooks/{Path(source).stem}.md"
    return source_page(source)


def _linked_sources(files: Files) -> Iterator[str]:
    """Return the files outside of `docs/` that pages link to and that are no page already."""
    found = set()
    for file in files.documentation_pages():
        here = place_of(file.src_uri)
        if here is None:
            continue
        for part in _CODE.split(file.content_string)[::2]:
            for link in _LINK.finditer(part):
                target = _resolved(here, link["target"])
                if target is not None and _page_of(target).startswith("source/"):
                    found.add(target)
    return (source for source in found if (ROOT / source).is_file())
