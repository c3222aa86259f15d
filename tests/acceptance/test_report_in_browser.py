"""The dossier's page in a real browser: silent, offline, sortable, dark, printable, narrow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fixtures.browser import Browser, find_browser
from fixtures.example_backtest import example_backtest
from fixtures.example_dossier import (
    around,
    bare_dossier,
    example_dossier,
    example_memo,
    large_dossier,
    strange_dossier,
)
from tradingbot.evaluation.performance.record import EarnedParts
from tradingbot.evaluation.report.backtest_page import render_backtests
from tradingbot.evaluation.report.dossier_page import render_dossier

PROGRAM = find_browser()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")

COLUMN = "[...document.querySelectorAll('#league tbody tr')].map(row => row.cells[{0}].innerText)"
KEYS = "[...document.querySelectorAll('#league tbody tr')].map(row => row.cells[{0}].dataset.key)"
SORT = "document.querySelector('#league th:nth-child({0})').getAttribute('aria-sort')"
GROUND = "getComputedStyle(document.body).backgroundColor"
INK = "getComputedStyle(document.body).color"
AGENT, SHARPE, RETURN = 0, 2, 3


@dataclass(frozen=True)
class Pages:
    """Files of the four example dossiers, and of a backtest."""

    full: Path
    large: Path
    bare: Path
    strange: Path
    backtest: Path


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    folder = tmp_path_factory.mktemp("pages")
    dossiers = {
        "full": example_dossier(),
        "large": large_dossier(),
        "bare": bare_dossier(),
        "strange": strange_dossier(),
    }
    for name, dossier in dossiers.items():
        page = render_dossier(dossier, example_memo("NO-GO" if name == "bare" else "GO"))
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    played = [example_backtest(policy=name) for name in ("sma_cross", "buy_and_hold")]
    parts = EarnedParts(around(-1.1, 0.2), around(-0.6, 0.1), around(1.6, 1.5))
    wide = {"sharpe_annual": around(-12.35, 12.4), "net_bps_per_bar": around(-12.36, 11.8)}
    told = replace(example_dossier().test.policies[0], earned=parts, **wide)
    figures = [replace(told, policy=each.policy) for each in played]
    page = render_backtests(played, figures, "made up")
    (folder / "backtest.html").write_text(page, encoding="utf-8")
    return Pages(**{name: folder / f"{name}.html" for name in (*dossiers, "backtest")})


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert PROGRAM is not None
    try:
        browser = Browser(PROGRAM)
    except (EOFError, BrokenPipeError) as e:  # a stub that only tells how to install the real one
        pytest.skip(f"{PROGRAM} does not start: {e}")
    yield browser
    browser.close()


@pytest.mark.parametrize("name", ["full", "large", "bare", "strange"])
@pytest.mark.parametrize("width", [1280, 420])
def test_page_opens_without_complaint_request_or_overflow(
    browser: Browser, pages: Pages, name: str, width: int
) -> None:
    page: Path = getattr(pages, name)

    browser.open(page, width=width)

    assert browser.complaints == []
    assert [url for url in browser.requests if not url.startswith("data:")] == [page.as_uri()]
    assert browser.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("width", [1100, 1200, 1300, 1440])
@pytest.mark.parametrize("name", ["full", "large", "backtest"])
def test_tables_fit_beside_the_contents(
    browser: Browser, pages: Pages, name: str, width: int
) -> None:
    browser.open(getattr(pages, name), width=width)
    cut = browser.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
        ".map(e => [e.getAttribute('aria-label'), e.scrollWidth, e.clientWidth])"
    )

    assert browser.evaluate("getComputedStyle(document.querySelector('nav')).position") == "sticky"
    assert cut == []


OVERPRINTED = """(() => { const found = [];
for (const drawing of document.querySelectorAll('svg')) {
  const boxes = [...drawing.querySelectorAll('text')].filter(one => one.textContent.trim())
    .map(one => [one.textContent, one.getBoundingClientRect()]).filter(([, box]) => box.width > 0);
  boxes.forEach(([name, a], index) => { for (const [other, b] of boxes.slice(index + 1)) {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 1 && high > 3) found.push(`${name} and ${other}`);
  } });
} return found; })()"""
"""Labels of drawings that overprint each other; boxes of text are 3 px taller than its ink."""


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("name", ["full", "large"])
def test_no_label_overprints_another(browser: Browser, pages: Pages, name: str, width: int) -> None:
    browser.open(getattr(pages, name), width=width)

    assert browser.evaluate(OVERPRINTED) == []
    assert browser.evaluate("document.documentElement.scrollHeight") < 40_000


def test_page_shows_verdict_and_key_numbers(browser: Browser, pages: Pages) -> None:
    browser.open(pages.full)
    banner = browser.evaluate("document.querySelector('#verdict').innerText").replace("\u202f", " ")

    assert banner.count("GO") == 1
    for known in (
        "synthetic data",
        "+30.6 %",
        "buy & hold, equal weight +6.6 %",
        "97.1 %",
        "17.27 bp",
    ):
        assert known in banner
    assert browser.evaluate("document.title").startswith("GO: example-run (synthetic data)")
    assert "95 % [1.20, 3.00]" in banner


def test_page_of_nothing_optional_shows_reasons(browser: Browser, pages: Pages) -> None:
    browser.open(pages.bare)

    assert "NO-GO" in browser.evaluate("document.querySelector('h1').innerText")
    words = browser.evaluate("document.querySelector('#walk-forward').innerText")
    assert "fewer days than a window of 60" in words


def test_league_sorts_by_click_both_ways_with_missing_figures_last(
    browser: Browser, pages: Pages
) -> None:
    browser.open(pages.large)
    assert browser.evaluate(SORT.format(SHARPE + 1)) == "descending"

    browser.click(f"#league th:nth-child({RETURN + 1}) button")
    falling = [float(key) for key in browser.evaluate(KEYS.format(RETURN))]
    assert falling == sorted(falling, reverse=True)
    assert len(falling) == 143
    assert browser.evaluate(SORT.format(RETURN + 1)) == "descending"
    assert browser.evaluate(SORT.format(SHARPE + 1)) == "none"

    browser.click(f"#league th:nth-child({SHARPE + 1}) button")
    browser.click(f"#league th:nth-child({SHARPE + 1}) button")
    rising = browser.evaluate(KEYS.format(SHARPE))
    numbers = [float(key) for key in rising[:-1]]
    assert numbers == sorted(numbers)
    assert rising[-1] == ""
    assert browser.evaluate(SORT.format(SHARPE + 1)) == "ascending"


def test_league_sorts_words_by_keyboard(browser: Browser, pages: Pages) -> None:
    browser.open(pages.full)
    browser.evaluate("document.querySelector('#league th:nth-child(1) button').focus()")

    browser.press("Enter", "\r")

    names = browser.evaluate(COLUMN.format(AGENT))
    assert names == sorted(names)
    assert browser.evaluate(SORT.format(1)) == "ascending"


def test_league_can_be_filtered(browser: Browser, pages: Pages) -> None:
    browser.open(pages.large)
    browser.click("#league input")

    for letter in "syn14":
        browser.press(letter, letter)

    shown = "[...document.querySelectorAll('#league tbody tr')].filter(row => row.offsetHeight)"
    assert browser.evaluate(f"{shown}.length") == 3


def test_page_follows_dark_and_its_own_switch(browser: Browser, pages: Pages) -> None:
    def brightness(expression: str) -> float:
        channels = browser.evaluate(expression).removeprefix("rgb(").removesuffix(")").split(",")
        return sum(map(float, channels)) / 765

    browser.open(pages.full, dark=True)
    assert brightness(GROUND) < 0.2 < 0.8 < brightness(INK)
    line = "getComputedStyle(document.querySelector('.line.agents')).stroke"
    dark_line = browser.evaluate(line)

    browser.click("#theme")
    assert brightness(INK) < 0.2 < 0.8 < brightness(GROUND)
    assert browser.evaluate(line) != dark_line
    assert browser.evaluate("document.querySelector('#theme').innerText") == "Dark"
    assert browser.complaints == []


def test_trades_can_be_filtered_by_symbol_and_result(browser: Browser, pages: Pages) -> None:
    browser.open(pages.full)
    rows = "[...document.querySelectorAll('#trades tbody tr')].filter(row => !row.hidden)"
    whole = browser.evaluate(f"{rows}.length")
    choose = (
        "(() => {{ const one = document.querySelector(`#trades select[aria-label='{0}']`);"
        " one.value = '{1}'; one.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
    )

    browser.evaluate(choose.format("Symbol", "SYN004"))
    browser.evaluate(choose.format("Result", "won"))

    found = browser.evaluate(
        f"{rows}.map(row => [row.cells[0].innerText, row.cells[11].innerText])"
    )
    assert found
    assert len(found) < whole
    assert set(map(tuple, found)) == {("SYN004", "won")}
    told = browser.evaluate("document.querySelector('#trades output').innerText")
    assert told == f"{len(found)} of {whole}"
    browser.evaluate(choose.format("Symbol", ""))
    browser.evaluate(choose.format("Result", ""))
    assert browser.evaluate(f"{rows}.length") == whole
    assert browser.complaints == []


@pytest.mark.parametrize("dark", [False, True])
def test_first_screen_shows_verdict_numbers_and_picture_without_scrolling(
    browser: Browser, pages: Pages, dark: bool
) -> None:
    browser.open(pages.full, width=1280, dark=dark)
    bottoms = browser.evaluate(
        "['h1 .word', '.facts', '.figures.lead', '.first figure', '.change h2']"
        ".map(name => document.querySelector(name).getBoundingClientRect().bottom)"
    )

    assert bottoms == sorted(bottoms)
    assert bottoms[-1] < 860


def test_paper_is_light_and_hides_nothing(browser: Browser, pages: Pages) -> None:
    browser.open(pages.large, dark=True)
    browser.click("#theme")
    browser.click("#theme")
    browser.prefer(dark=True, media="print")

    assert browser.evaluate(GROUND) == "rgb(255, 255, 255)"
    assert browser.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    league = "document.querySelector('#league .scroll')"
    assert browser.evaluate(f"{league}.scrollHeight - {league}.clientHeight") == 0
    folded = "[...document.querySelectorAll('details .scroll:not(.brief) tbody td')]"
    assert browser.evaluate(f"{folded}.length") > 50
    assert browser.evaluate(f"{folded}.every(cell => cell.checkVisibility())")
    listed = "[...document.querySelectorAll('#trades .brief tbody tr')]"
    assert browser.evaluate(f"{listed}.length") == 1_000
    assert browser.evaluate(f"{listed}.filter(row => row.checkVisibility()).length") == 40

    assert browser.as_pdf().startswith(b"%PDF-")


def test_evidence_links_lead_to_their_section(browser: Browser, pages: Pages) -> None:
    browser.open(pages.full)
    broken = browser.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')]"
        ".filter(link => !document.getElementById(link.hash.slice(1))).map(link => link.hash)"
    )

    browser.click("#gates a[href='#walk-forward']")

    assert broken == []
    assert browser.evaluate("location.hash") == "#walk-forward"
