"""The dossier's page: verdict first, all escaped, nothing from elsewhere, gaps explained."""

from __future__ import annotations

import base64
import builtins
import hashlib
import html
import math
import re
from dataclasses import replace

import pytest

from fixtures.example_dossier import (
    EVIL,
    bare_dossier,
    example_dossier,
    example_memo,
    large_dossier,
    portfolio_dossier,
    strange_dossier,
)
from tradingbot.domain.errors import MissingExtraError
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.measurements import MEASUREMENTS
from tradingbot.evaluation.gates.result import Alarm, Verdict
from tradingbot.evaluation.report.dossier_page import render_dossier
from tradingbot.evaluation.report.sections.league import league_section

ORDER = (
    "verdict",
    "performance",
    *("months", "drawdowns", "rolling", "tails", "exposure", "clock", "trades", "symbols"),
    "league",
    "walk-forward",
    "regimes",
    "stress",
    "sensitivity",
    "seeds",
    "ablation",
    "ensemble",
    "policy",
    "rewards",
    "health",
    "statistics",
    "placebos",
    "leak-check",
    "gates",
    "caveats",
    "origin",
)


def page(dossier: Dossier | None = None, verdict: Verdict = "GO") -> str:
    return render_dossier(dossier or example_dossier(), example_memo(verdict))


def section(text: str, anchor: str) -> str:
    return text.split(f'<section id="{anchor}"')[1].split("</section>")[0]


def words(text: str) -> str:
    """What is read, without markup, with plain spaces."""
    seen = re.sub(r"<(script|style|title)[^>]*>.*?</\1>", " ", text, flags=re.DOTALL)
    plain = html.unescape(re.sub(r"<[^>]+>", " ", seen))
    return re.sub(r"\s+", " ", plain)


@pytest.fixture(scope="module")
def full() -> str:
    return page()


def test_page_shows_verdict_first_and_evidence_in_order(full: str) -> None:
    assert tuple(re.findall(r'<(?:section|header) id="([a-z-]+)"', full)) == ORDER
    linked = re.findall(r'<li><a href="#([a-z-]+)"', full)
    assert tuple(linked) == ORDER


@pytest.mark.parametrize("verdict", ["GO", "CONDITIONAL", "NO-GO"])
def test_banner_tells_verdict_reasons_and_what_would_change_it(verdict: Verdict) -> None:
    memo = example_memo(verdict)
    banner = words(page(verdict=verdict).split("</header>")[0])

    assert f"{verdict} {memo.headline}" in banner
    for line in (*memo.reasons, *memo.counter_evidence, *memo.would_change):
        assert line in banner


def test_banner_tells_an_alarm_that_stands_from_one_that_is_explained(full: str) -> None:
    alarm = Alarm("the Sharpe ratio is above 3", False, "Nothing explains it.")
    stands = render_dossier(example_dossier(), replace(example_memo("NO-GO"), alarm=alarm))

    assert "Alarm, explained." in words(full)
    said = "Alarm: too good to be believed. The Sharpe ratio is above 3. Nothing explains it."
    assert said in words(stands)
    assert 'role="note"' not in render_dossier(example_dossier(), example_memo(alarm=False))


def test_page_asks_nothing_of_the_network(full: str) -> None:
    assert not re.search(r"https?:|//[a-z]+\.|@import|url\((?!data:)", full)
    assert re.findall(r'\b(?:src|href)="([^#"][^"]{0,5})', full) == ["data:,"]
    assert "default-src 'none'" in full


def test_page_allows_its_own_script_and_no_other(full: str) -> None:
    script = full.split("<script>")[1].split("</script>")[0]
    allowed = re.findall(r"script-src 'sha256-([^']+)'", full)

    assert allowed == [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()]
    assert full.count("<script") == 1


def test_page_escapes_whatever_a_dossier_or_memo_says() -> None:
    dossier = strange_dossier()
    gate = replace(
        example_memo().gates[0],
        gate=EVIL,
        words=EVIL,
        target=EVIL,
        unit=EVIL,
        evidence=EVIL,
        reason=EVIL,
    )
    memo = replace(
        example_memo(),
        headline=EVIL,
        reasons=(EVIL,),
        counter_evidence=(EVIL,),
        would_change=(EVIL,),
        alarm=Alarm(EVIL, False, EVIL),
        gates=(gate,),
    )

    text = render_dossier(dossier, memo)

    assert text.count("<script") == 1
    assert text.count("alert(") > 20
    assert "alert('x')" not in text.split("<main>")[1]


def test_synthetic_is_said_in_title_banner_and_every_chart(full: str) -> None:
    charts = re.findall(r"<svg.*?</svg>", full, flags=re.DOTALL)

    assert "(synthetic data)" in full.split("</title>")[0]
    assert "synthetic data" in full.split("<h1>")[0].split("<header")[1]
    assert len(charts) > 25
    assert all('class="mark"' in chart and "(synthetic data)" in chart for chart in charts)


def test_line_above_the_verdict_says_synthetic_once() -> None:
    dossier = example_dossier()
    header = replace(dossier.header, label="synthetic market 'planted', seed 7")
    text = render_dossier(replace(dossier, header=header), example_memo())

    line = text.split('<p class="kicker">')[1].split("</p>")[0]
    assert line.count("synthetic") == 1
    assert "market &#39;planted&#39;, seed 7" in line


@pytest.mark.parametrize(
    ("metric", "measured", "words"),
    [
        ("spa_p", 0.0, "< 0.001 (no draw was as good)"),
        ("cost_reserve", math.inf, "no cost in the range took it away"),
    ],
)
def test_gate_at_the_edge_of_what_can_be_measured_is_shown_in_words(
    metric: str, measured: float, words: str
) -> None:
    memo = example_memo()
    gate = replace(memo.gates[0], metric=metric, measured=measured, interval=None)
    text = render_dossier(example_dossier(), replace(memo, gates=(gate,)))

    assert html.escape(words) in text.split('<section id="gates"')[1]


def test_p_value_without_a_draw_is_said_to_be_one() -> None:
    dossier = example_dossier()
    statistics = replace(dossier.statistics, spa_p_consistent=0.0)
    text = render_dossier(replace(dossier, statistics=statistics), example_memo())

    assert "p &lt; 0.001" in text


def test_synthetic_is_not_said_of_observed_bars() -> None:
    text = render_dossier(example_dossier(synthetic=False), example_memo(alarm=False))

    assert 'class="mark"' not in text
    assert "synthetic" not in text.split("</header>")[0].split("</style>")[1].lower()
    assert "synthetic" not in text.split("</title>")[0]


def test_pieces_left_out_say_why() -> None:
    text = page(bare_dossier())

    assert "Left out: fewer than" not in words(text)
    assert "Left out: fewer days than a window of 60." in words(section(text, "walk-forward"))
    for anchor in ("regimes", "stress", "sensitivity", "seeds", "ablation", "ensemble", "policy"):
        assert "Left out: the evaluation was not asked for it." in words(section(text, anchor))


def test_what_is_no_number_is_written_as_a_dash() -> None:
    text = words(page(strange_dossier()).split("<main>")[1])

    assert not re.search(r"\b(nan|inf|None)\b", text)
    assert "–" in text
    assert "∞" in text


def test_page_of_all_agents_stays_small() -> None:
    text = page(large_dossier())

    assert text.count("<tr><td") > 1_143  # a line per agent, and as many trades as are listed
    assert len(text.encode()) < 3_000_000
    assert section(text, "league").count("<tr>") == 144


def test_equal_dossiers_give_equal_pages(full: str) -> None:
    assert page() == full


def test_league_ranks_by_sharpe_and_puts_idle_agents_last(full: str) -> None:
    league = section(full, "league")
    keys = re.findall(r'<tr>.*?<td class="number " data-key="([^"]*)"', league, flags=re.DOTALL)[1:]
    numbers = [float(key) for key in keys if key]

    assert numbers == sorted(numbers, reverse=True)
    assert keys[-1] == ""
    assert 'aria-sort="descending"' in league


def test_luck_is_explained_with_the_figures_of_the_run() -> None:
    dossier = example_dossier()
    agents = replace(
        dossier.test.policies[0],
        sharpe_annual=dossier.test.policies[0].sharpe_annual._replace(estimate=2.0),
    )
    test = replace(dossier.test, policies=(agents, *dossier.test.policies[1:]))
    statistics = replace(
        dossier.statistics, sharpe_per_bar=0.05, expected_best_sharpe=0.03, n_trials=12
    )

    text = words(
        section(page(replace(dossier, parts=(test,), statistics=statistics)), "statistics")
    )

    assert (
        "If there were no skill, the best of 12 trials would still show an annual Sharpe ratio of "
        "about 1.20. This run shows 2.00." in text
    )


def test_luck_without_an_annual_figure_is_told_per_bar() -> None:
    dossier = example_dossier()
    statistics = replace(dossier.statistics, sharpe_per_bar=-0.02)

    text = words(section(page(replace(dossier, statistics=statistics)), "statistics"))

    assert "a per-bar Sharpe ratio of about 0.0231. This run shows −0.0200." in text


def test_single_trial_has_nothing_to_choose_from() -> None:
    dossier = example_dossier()
    statistics = replace(dossier.statistics, n_trials=1)

    text = words(section(page(replace(dossier, statistics=statistics)), "statistics"))

    assert "nothing to choose from" in text
    assert "nothing to deflate" in text
    assert "1 trials" not in text
    assert "best of 1 " not in text


def test_gates_show_target_measured_interval_evidence_and_outcome(full: str) -> None:
    gates = section(full, "gates")

    assert "final/sharpe Portfolio Sharpe ratio > 1.0 1.72 [0.82, 2.62]" in words(gates)
    assert "≥ 70 % 77.8 %" in words(gates)
    assert '<a href="#walk-forward">Walk-forward</a>' in gates
    assert "– not measured nothing is served yet" in words(gates)
    assert words(gates).count("✓ pass") == 3


def test_evidence_of_every_measurement_is_a_section_of_the_page() -> None:
    page = render_dossier(portfolio_dossier(), example_memo("GO"))
    sections = re.findall(r'<(?:section|header) id="([a-z-]+)"', page)
    assert {found.evidence for found in MEASUREMENTS.values()} <= set(sections)
    assert {*sections} == {*ORDER, "allocation"}
    assert "cash, what is in no position, was between" in section(page, "allocation")


def test_page_gives_command_and_hashes(full: str) -> None:
    header, origin = example_dossier().header, section(full, "origin")

    assert f"<code>{header.command}</code>" in origin
    for known in (header.data_sha256, header.config_hash, header.weights_sha256):
        assert known in origin


def test_page_without_jinja_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def refuse(name: str, *rest: object, **options: object) -> object:
        if name == "jinja2":
            raise ModuleNotFoundError(name)
        return real_import(name, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)

    with pytest.raises(MissingExtraError, match="jinja2"):
        page()


def test_placebos_that_cannot_fail_are_not_called_clean() -> None:
    dossier = example_dossier()
    assert dossier.placebos is not None
    rows = dossier.placebos.rows
    dirty = replace(rows[0], edge_found_frac=0.4)
    single = replace(rows[1], allowed_frac=1.0)
    placebos = replace(dossier.placebos, rows=(dirty, single, rows[2]))

    text = words(section(page(replace(dossier, placebos=placebos)), "placebos"))

    assert "Clean placebos: 1 of 2." in text
    assert "– not judged" in text
    assert "✗ edges in noise" in text


def test_league_of_agents_that_all_stay_out_has_no_chart() -> None:
    dossier = example_dossier()
    idle = tuple(replace(row, trades=False) for row in dossier.test.agents)
    parts = (replace(dossier.test, agents=idle),)

    text = page(replace(dossier, parts=parts))

    assert "No agent trades: validation keeps 10 agents in cash" in words(section(text, "league"))
    assert "<svg" not in section(text, "league")
    assert "no actions can be judged" in words(section(text, "health"))


def test_league_says_how_far_a_sharpe_ratio_lies_by_luck() -> None:
    dossier = example_dossier()

    finding = league_section(dossier).finding

    reach = 1.96 / math.sqrt(dossier.test.years)
    assert f"lies within ±{reach:.1f} in 95 %" in finding
    assert f"{dossier.test.years:.2f} years" in finding
