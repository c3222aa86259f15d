"""Pages: everything is escaped, numbers are aligned, long tables fold."""

from __future__ import annotations

import builtins
import re

import pytest

from tradingbot.domain.errors import MissingExtraError
from tradingbot.evaluation.figures.style import new_figure
from tradingbot.evaluation.report.page import Picture, Section, Table, render_page

EVIL = "<script>alert('x')</script>"


def page(*sections: Section, **words: object) -> str:
    options = {"title": "T", "subtitle": "S", "facts": {}, **words}
    return render_page(sections=list(sections), **options)  # type: ignore[arg-type]


def test_page_escapes_every_text() -> None:
    picture = Picture(new_figure(1, 1), f'"{EVIL}" onerror="x')
    section = Section(
        title=EVIL,
        verdict=EVIL,
        text=EVIL,
        tables=[Table([EVIL], [[EVIL]], folded_under=EVIL)],
        pictures=[picture],
    )

    html = page(section, title=EVIL, subtitle=EVIL, facts={EVIL: EVIL})

    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 13
    assert 'onerror="' not in html


def test_page_aligns_numbers_and_not_text() -> None:
    html = page(Section("s", tables=[Table(["a", "b", "c"], [[1, 2.5, "3"]])]))

    assert re.findall(r"<td[^>]*>[^<]*</td>", html) == [
        '<td class="number">1</td>',
        '<td class="number">2.5</td>',
        "<td>3</td>",
    ]
    assert re.findall(r"<th>(\w)</th>", html) == ["a", "b", "c"]


def test_page_aligns_texts_of_columns_that_are_said_to_be_numbers() -> None:
    table = Table(["a", "b"], [["x", "1.2 [0.3, 2.1]"]], numeric_columns=["b"])

    html = page(Section("s", tables=[table]))

    assert re.findall(r"<t[dh][^>]*>[^<]*</t[dh]>", html) == [
        "<th>a</th>",
        '<th class="number">b</th>',
        "<td>x</td>",
        '<td class="number">1.2 [0.3, 2.1]</td>',
    ]


def test_page_folds_only_tables_that_say_so() -> None:
    plain, folded = Table(["a"], [["x"]]), Table(["b"], [["y"]], folded_under="All 1 rows")

    html = page(Section("s", tables=[plain, folded]))

    inside = re.findall(r"<details>(.*?)</details>", html, flags=re.DOTALL)
    assert len(inside) == 1
    assert "<summary>All 1 rows</summary>" in inside[0]
    assert "<td>y</td>" in inside[0]
    assert "<td>x</td>" not in inside[0]


@pytest.mark.parametrize(("good", "kind"), [(True, "good"), (False, "bad")])
def test_page_badge_tells_good_from_bad(*, good: bool, kind: str) -> None:
    html = page(Section("s", verdict="leaks", good=good))

    assert f'<span class="badge {kind}">leaks</span>' in html


def test_page_without_verdict_has_no_badge() -> None:
    assert 'class="badge' not in page(Section("s"))


def test_page_keeps_order_and_shows_facts_first() -> None:
    html = page(Section("one"), Section("two"), facts={"seed": "7"})

    assert html.index("<dt>seed</dt><dd>7</dd>") < html.index("one") < html.index("two")


def test_page_holds_pictures_inside_with_their_caption() -> None:
    html = page(Section("s", pictures=[Picture(new_figure(1, 1), "What it shows")]))

    assert re.search(r'<img src="data:image/png;base64,[A-Za-z0-9+/=]{100,}" alt="What', html)
    assert "<figcaption>What it shows</figcaption>" in html


def test_page_without_jinja_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def refuse(name: str, *rest: object, **options: object) -> object:
        if name == "jinja2":
            raise ModuleNotFoundError(name)
        return real_import(name, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)

    with pytest.raises(MissingExtraError, match="jinja2"):
        page()
