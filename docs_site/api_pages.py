"""Make the pages of the Python reference: what the docstrings of the package say, room by room.

A page holds the modules of one folder; mkdocstrings reads them from the sources, without importing
them. `extra.api: facade` in the configuration leaves out all but what `import tradingbot` offers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "tradingbot"
COMMAND_LINE = "app"
"""A room that nobody imports: its reference is the page of commands."""
_MODULE = "::: {name}\n    options:\n      show_root_heading: true\n      heading_level: 2\n"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the pages to the navigation."""
    config.extra.setdefault("generated_pages", []).extend(pages(str(config.extra.get("api"))))
    return config


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the pages."""
    for uri, text in pages(str(config.extra.get("api"))).items():
        files.append(File.generated(config, uri, content=text))
    return files


def pages(rooms: str) -> dict[str, str]:
    """Return page → text; `rooms` is `facade` for that one alone, anything else for all."""
    folders = sorted(path.parent for path in PACKAGE.rglob("__init__.py"))
    found = {}
    for folder in folders:
        parts = folder.relative_to(PACKAGE).parts
        if not parts or parts[0] == COMMAND_LINE or rooms == "facade" != parts[0]:
            continue
        modules = sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
        name = ".".join(("tradingbot", *parts))
        if public := [module for module in modules if not module.startswith("_")]:
            found[f"api/{'.'.join(parts)}.md"] = page_of(name, public)
    return found


def page_of(package: str, modules: list[str]) -> str:
    """Write the page of one folder."""
    title = package.removeprefix("tradingbot.")
    blocks = [_MODULE.format(name=f"{package}.{module}") for module in modules]
    head = f"# {title}\n\nModules of `{package}`; what their docstrings say.\n"
    return "\n".join([head, *blocks])
