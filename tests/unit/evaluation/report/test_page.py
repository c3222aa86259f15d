"""Pages: everything is escaped, nothing comes from elsewhere, numbers align, long tables fold."""

from __future__ import annotations

import base64
import builtins
import hashlib
import html
import re

import pytest

from tradingbot.domain.errors import MissingExtraError
from tradingbot.evaluation.report.blocks import Figure, Section, Words
from tradingbot.evaluation.report.chart import Chart, Charts
from tradingbot.evaluation.report.page import Notice, Page, PointList, render_page
from tradingbot.evaluation.report.svg.drawing import Drawing
from tradingbot.evaluation.report.svg.spells import Spell, spell_chart
from tradingbot.evaluation.report.table import table_of

EVIL = "<script>alert('x')</script>"


def page(*sections: Section, **words: object) -> str:
    options = {"title": "T", "kicker": ("a", "b", "c"), "headline": "H", "footer": "F", **words}
    shown = list(sections) or [Section("s", "S", "F")]
    return render_page(Page(sections=shown, **options))  # type: ignore[arg-type]


def test_page_escapes_every_text() -> None:
    chart = Chart(EVIL, Drawing(10, 10, ""), f'"{EVIL}" onerror="x')
    table = table_of([EVIL], [[EVIL]], EVIL, words=(EVIL,), folded_under=EVIL)
    blocks = [table, Charts((chart,)), Words((EVIL,))]
    section = Section("s", EVIL, EVIL, blocks, badge=EVIL)

    text = page(
        section,
        title=EVIL,
        kicker=(EVIL, EVIL, EVIL),
        headline=EVIL,
        footer=EVIL,
        word=EVIL,
        top=EVIL,
        scope=EVIL,
        notices=[Notice(EVIL, EVIL)],
        key_figures=[Figure(EVIL, EVIL, EVIL)],
        lists=[PointList(EVIL, (EVIL,), EVIL)],
    )

    assert text.count("<script") == 1  # the page's own
    assert EVIL not in text
    assert text.count("&lt;script&gt;") >= 26
    assert 'onerror="' not in text


def test_page_names_its_script_by_hash_and_asks_for_nothing_else() -> None:
    text = page()

    script = re.search(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script.group(1).encode()).digest()).decode()
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1])  # type: ignore[index]
    assert policy.startswith("default-src 'none'")
    assert f"script-src 'sha256-{digest}'" in policy
    assert re.search(r"https?://|@import|url\(", text) is None
    assert "color-scheme: light dark" in text


def test_table_of_plain_values_aligns_numbers_and_sorts_by_them() -> None:
    table = table_of(["name", "n", "written"], [["x", 2500, "-1.2 [0, 3]"]], "c", words=["name"])

    assert [column.is_number for column in table.columns] == [False, True, True]
    assert [cell.text for cell in table.rows[0]] == ["x", "2,500", "-1.2"]
    assert [cell.note for cell in table.rows[0]] == ["", "", "[0, 3]"]  # below: tables fit
    assert [cell.key for cell in table.rows[0]] == ["x", 2500.0, -1.2]
    assert '<td class="number " data-key="2500.0">2\u202f500</td>' in page(
        Section("s", "S", "", [table])
    )


def test_page_folds_only_tables_that_say_so() -> None:
    plain = table_of(["a"], [["x"]], "", words=["a"])
    folded = table_of(["b"], [["y"]], "", words=["b"], folded_under="All 1 rows")

    text = page(Section("s", "S", "", [plain, folded])).split("<main>")[1]

    inside = re.findall(r"<details>(.*?)</details>", text, flags=re.DOTALL)
    assert len(inside) == 1
    assert "<summary>All 1 rows</summary>" in inside[0]
    assert ">y</td>" in inside[0]
    assert ">x</td>" not in inside[0]


@pytest.mark.parametrize("tone", ["good", "bad"])
def test_badge_tells_good_from_bad(tone: str) -> None:
    text = page(Section("s", "S", "", badge="leaks", tone=tone))  # type: ignore[arg-type]

    assert f'<span class="badge {tone}">leaks</span>' in text
    assert 'class="badge' not in page(Section("s", "S", "")).split("<main>")[1]


def test_synthetic_data_are_marked_at_the_top_and_in_every_chart() -> None:
    chart = Chart("c", Drawing(10, 10, ""))

    text = page(Section("s", "S", "", [Charts((chart, chart))]), is_synthetic=True)

    assert text.count(">synthetic</text>") == 2
    assert '<span class="badge">synthetic data</span>' in text


def test_spells_are_cut_at_the_days_that_are_shown() -> None:
    days = tuple(f"2025-01-{day:02d}" for day in range(1, 11))
    rows = [("rule", [Spell(-5, 3, "pos", "won"), Spell(7, 40, "neg"), Spell(50, 60, "neg")])]

    body = spell_chart(days, rows, width=400.0).body

    assert body.count('class="pos"') == 1
    assert body.count('class="neg"') == 1
    assert "<title>won</title>" in body
    boxes = re.findall(r'x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', body)
    assert max(float(x) + float(wide) for x, wide in boxes) <= 400.0 - 5.9


def test_page_without_jinja_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def refuse(name: str, *rest: object, **options: object) -> object:
        if name == "jinja2":
            raise ModuleNotFoundError(name)
        return real_import(name, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)

    with pytest.raises(MissingExtraError, match="jinja2"):
        page()
