"""Fill the navigation of `mkdocs.yml`: `- concepts/*` stands for the pages not named before it.

A new page of a folder so appears without an edit; a page outside of every named folder is left out
and fails the strict build (`validation.nav.omitted_files`).
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace every `folder/*` by the pages of the folder that the navigation does not name."""
    docs = Path(config.docs_dir)
    written = [path.relative_to(docs).as_posix() for path in docs.rglob("*.md")]
    pages = [*written, *config.extra.get("generated_pages", [])]
    named = set(paths_of(config.nav or []))
    config.nav = expanded(config.nav or [], [page for page in pages if page not in named])
    return config


def paths_of(nav: list[Any]) -> list[str]:
    """Return the pages that a navigation names, in order."""
    found: list[str] = []
    for item in nav:
        for value in item.values() if isinstance(item, dict) else [item]:
            found += paths_of(value) if isinstance(value, list) else [value]
    return found


def expanded(nav: list[Any], others: list[str]) -> list[Any]:
    """Return the navigation with those of `others` that a `*` stands for, in order of names."""
    full: list[Any] = []
    for item in nav:
        if isinstance(item, dict):
            full += [
                {title: expanded(value, others) if isinstance(value, list) else value}
                for title, value in item.items()
            ]
        elif item.endswith("/*"):
            folder = PurePosixPath(item).parent
            full += sorted(page for page in others if PurePosixPath(page).parent == folder)
        else:
            full.append(item)
    return full
