"""The documentation site builds strictly, offline, with every page in its navigation.

By default the reference holds the façade alone; `slow` builds what `make docs` builds.
"""

from __future__ import annotations

import ast
import logging
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("mkdocs", reason="the site needs: pip install 'tradingbot[docs]'")

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "docs_site"))

import doctests  # noqa: E402 - hooks of the site, no package
import github_markdown  # noqa: E402
import navigation  # noqa: E402
import outside_pages  # noqa: E402

# Elements whose address a browser fetches by itself.
FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


@dataclass
class Html(HTMLParser):
    """Addresses and names of one page."""

    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value for key, value in attrs if value is not None}
        self.names |= {values[key] for key in ("id", "name") if key in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if (address := values.get(FETCHED.get(tag, ""))) is not None:
            self.fetched.append(address)


def read_html(text: str) -> Html:
    page = Html()
    page.feed(text)
    return page


def build_site(folder: Path, *, api: str) -> Path:
    """Build the site into `folder`; a warning ends the build."""
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder))
    config.extra["api"] = api
    build(config)
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        yield build_site(tmp_path_factory.mktemp("site"), api="facade")


def pages_of(site: Path) -> dict[Path, Html]:
    return {
        path: read_html(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
        if path.name != "404.html"
    }


def problems_of(pages: dict[Path, Html]) -> list[str]:
    """Say which links within the site lead nowhere."""
    problems = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            names = pages[there].names if there in pages else {unquote(parts.fragment)}
            if not there.exists():
                problems.append(f"{path.name}: {link}: no such file")
            elif parts.fragment and unquote(parts.fragment) not in names:
                problems.append(f"{path.name}: {link}: no such heading")
    return problems


def test_every_page_is_built_and_every_link_and_anchor_leads_somewhere(site: Path) -> None:
    pages = pages_of(site)

    built = {path.relative_to(site).with_suffix("").as_posix() for path in pages}
    written = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    assert written - {"README"} - built == set()
    assert problems_of(pages) == []


def test_every_page_is_in_the_navigation() -> None:
    config = load_config(str(ROOT / "mkdocs.yml"))
    written = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    named = set(navigation.paths_of(config.nav))

    shown = navigation.paths_of(
        navigation.expanded(config.nav, [page for page in written if page not in named])
    )

    assert [page for page in written if page not in shown] == []
    assert len(shown) == len(set(shown))
    assert config.strict
    assert config.validation.nav.omitted_files == logging.WARNING
    assert config.validation.links.anchors == logging.WARNING


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    outside = {
        f"{path.relative_to(site)}: {address}"
        for path, page in pages_of(site).items()
        for address in page.fetched
        if urlsplit(address).scheme not in ("", "data") or urlsplit(address).netloc
    }
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))

    assert outside == set()
    assert "url(http" not in styles
    assert "url(//" not in styles
    # The theme would fetch a program for diagrams where a page had one to draw.
    assert [path for path in site.rglob("*.html") if 'class="mermaid"' in path.read_text()] == []


def test_reference_shows_docstrings_with_examples_as_code(site: Path) -> None:
    text = (site / "api" / "facade.html").read_text(encoding="utf-8")

    assert 'id="tradingbot.facade.backtest.backtest"' in text
    assert "Let a policy trade every symbol of some bars" in text
    assert "&gt;&gt;&gt;" not in read_outside_of_code(text)


def read_outside_of_code(text: str) -> str:
    return "".join(part.partition("</pre>")[2] or part for part in text.split("<pre"))


@pytest.mark.slow
def test_whole_site_builds_with_the_reference_of_every_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")

    pages = pages_of(build_site(tmp_path / "site", api="all"))

    assert problems_of(pages) == []
    rooms = {path.name for path in (ROOT / "src" / "tradingbot").iterdir() if path.is_dir()}
    shown = {path.stem.partition(".")[0] for path in pages if path.parent.name == "api"}
    assert rooms - shown - {"app", "__pycache__"} == set()


@pytest.mark.slow
def test_search_works_in_pages_opened_from_the_file_system(site: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    outside, errors = [], []

    with playwright.sync_playwright() as player:
        browser = player.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: outside.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto((site / "concepts" / "time.html").as_uri())
        page.wait_for_function("typeof __index == 'object'")
        page.click("input[name=query]")
        page.keyboard.type("deflated sharpe")
        page.wait_for_function(
            "/^[0-9]+ matching/.test(document.querySelector('.md-search-result__meta').innerText)"
        )
        browser.close()

    assert errors == []
    assert [url for url in outside if not url.startswith(("file:", "data:"))] == []


def test_hooks_need_no_more_than_the_extra_docs() -> None:
    extra = {"griffe", "mkdocs", "nbformat"}
    own = {path.stem for path in (ROOT / "docs_site").glob("*.py")}
    needed = set()
    for name in load_config(str(ROOT / "mkdocs.yml")).hooks:
        for node in ast.parse((ROOT / name).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import):
                needed |= {each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                needed.add(str(node.module).partition(".")[0])

    assert needed - extra - own - sys.stdlib_module_names == set()


@pytest.mark.parametrize(
    "page", ["# A\n\n[gone](gone.md)\n", "# A\n\n[gone](#gone)\n", "# A\n\n![no](gone.png)\n"]
)
def test_site_with_a_broken_link_is_not_built(
    page: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text(page)
    (tmp_path / "mkdocs.yml").write_text(
        "site_name: x\nstrict: true\n"
        "validation: {links: {anchors: warn, not_found: warn, unrecognized_links: warn}}\n"
    )

    with caplog.at_level(logging.WARNING), pytest.raises(Abort):
        build(load_config(str(tmp_path / "mkdocs.yml"), theme="mkdocs"))


def test_page_outside_of_every_named_folder_is_missing_from_the_navigation() -> None:
    nav = [{"Start": ["README.md"]}, {"Concepts": ["concepts/b.md", "concepts/*"]}]
    others = ["concepts/c.md", "concepts/a.md", "lost.md", "concepts/deep/d.md"]

    shown = navigation.paths_of(navigation.expanded(nav, others))

    assert shown == ["README.md", "concepts/b.md", "concepts/a.md", "concepts/c.md"]


def test_words_after_a_fence_and_missing_gaps_are_mended() -> None:
    page = "Words:\n* one\n* two\n\n```bash no-run: why\n* as it is\n```\n```mermaid\na\n```\n"

    assert list(github_markdown.rewritten(page.splitlines())) == (
        "Words:\n\n* one\n* two\n\n```bash\n* as it is\n```\n```text\na\n```".splitlines()
    )


def test_links_that_leave_the_folder_lead_to_pages_of_the_site() -> None:
    text = "[a](../CONTRIBUTING.md#set-up) `[b](../x.md)` [c](https://x.y) [d](concepts/time.md)"
    readme = "[a](docs/concepts/time.md) ![b](docs/images/rooms.svg) [c](LICENSE)"

    assert outside_pages.with_links(text, "README.md") == (
        "[a](project/contributing.md#set-up) `[b](../x.md)` [c](https://x.y) [d](concepts/time.md)"
    )
    assert outside_pages.with_links(readme, "project/readme.md") == (
        "[a](../concepts/time.md) ![b](../images/rooms.svg) [c](../source/LICENSE.md)"
    )


def test_doctest_is_fenced_with_the_margin_that_it_has() -> None:
    assert doctests.fenced("Say.\n\nExample:\n    >>> f()\n    [1]\n\nEnd.") == (
        "Say.\n\nExample:\n    ```pycon\n    >>> f()\n    [1]\n    ```\n\nEnd."
    )
