"""Show the executed notebooks as pages of the site, with the files to download beside them."""

from __future__ import annotations

from functools import partial
from pathlib import PurePosixPath
from typing import Any

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from notebooks import FOLDER, as_markdown
from outside_pages import with_links

PLACE = "tutorials/notebooks"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the pages to the navigation."""
    pages = [f"{PLACE}/{path.stem}.md" for path in sorted(FOLDER.glob("*.ipynb"))]
    config.extra.setdefault("generated_pages", []).extend(pages)
    return config


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add page, pictures and file of each notebook."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        uri = f"{PLACE}/{path.stem}.md"
        here = PurePosixPath("examples/notebooks") / path.name
        relink = partial(with_links, uri=uri, here=here)
        text, pictures = as_markdown(nbformat.read(path, as_version=4), path.stem, relink)
        files.append(File.generated(config, uri, content=text))
        for name, content in {**pictures, path.name: path.read_bytes()}.items():
            files.append(File.generated(config, f"{PLACE}/{name}", content=content))
    return files
