"""The page of agents that stay out praises nothing that cash does as well."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fixtures.example_dossier import example_dossier, example_memo
from fixtures.idle_dossier import idle_dossier
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.idleness import no_agent_trades
from tradingbot.evaluation.gates.result import GateResult, Memo, Outcome
from tradingbot.evaluation.report.dossier_page import render_dossier

PRAISE = re.compile(r'class="[^"]*\bgood\b[^"]*"|✓')
EVIDENCE = (
    *("performance", "league", "regimes", "stress", "sensitivity", "seeds", "walk-forward"),
    *("policy", "health", "statistics", "placebos", "leak-check", "gates"),
)


def memo_of(*gates: tuple[str, str, Outcome]) -> Memo:
    results = [
        GateResult(name, "final", "Asked", True, name, "", "< 1", 0.0, None, evidence, outcome)
        for name, evidence, outcome in gates
    ]
    return replace(example_memo("NO-GO"), gates=tuple(results))


def section(page: str, anchor: str) -> str:
    return page.split(f'<section id="{anchor}"')[1].split("</section>")[0]


def page_of(dossier: Dossier, memo: Memo | None = None) -> str:
    return render_dossier(dossier, memo or memo_of(("drawdown", "stress", "pass")))


@pytest.mark.parametrize("anchor", EVIDENCE)
def test_section_of_idle_agents_says_that_no_agent_trades(anchor: str) -> None:
    finding = section(page_of(idle_dossier()), anchor).split('class="finding">')[1].split("</p>")[0]

    assert "o agent trades" in finding


def test_page_of_idle_agents_praises_random_policies_alone() -> None:
    page = page_of(idle_dossier())
    placebos = section(page, "placebos")

    rest = page.split("<style>")[0] + page.split("</style>")[1].replace(placebos, "")
    assert PRAISE.findall(rest.split("<script>")[0]) == []
    assert placebos.count("✓ clean") == 1
    assert placebos.count("no agent trades") == 2
    assert "Clean placebos: 1 of 1." in placebos


def test_page_of_trading_agents_is_as_before() -> None:
    page = page_of(example_dossier())

    assert "o agent trades" not in page.split("</style>")[1]
    assert PRAISE.search(page.split("</style>")[1]) is not None


def test_banner_of_idle_agents_shows_no_figure_of_risk_or_skill() -> None:
    banner = page_of(idle_dossier()).split('<dl class="figures lead">')[1].split("</dl>")[0]
    names = re.findall(r"<dt>(.*?)</dt>", banner)

    assert names == [
        *("Agents that stay out", "Return, test part", "Holding made"),
        "Sharpe, drawdown, luck",
    ]
    assert "12 trials counted" in banner


def test_gates_that_cash_passes_are_muted_and_counted() -> None:
    memo = memo_of(
        ("drawdown", "stress", "pass"),
        ("net", "statistics", "fail"),
        ("universe", "origin", "pass"),
        ("causality_certificate", "leak-check", "pass"),
        ("windows", "walk-forward", "pass"),
    )
    found = section(page_of(idle_dossier(), memo), "gates")

    assert "1 of the 4 passes are those of cash" in found
    assert found.count("<small>no agent trades</small>") == 1
    assert found.count("✓ pass") == 3
    assert found.count("✗ fail") == 1


def test_windows_and_seeds_that_trade_are_told_though_the_run_stays_out() -> None:
    full, idle = example_dossier(), idle_dossier()
    page = page_of(replace(idle, walk_forward=full.walk_forward, seeds=full.seeds))

    assert "Profitable: " in section(page, "walk-forward")
    assert "<svg" in section(page, "walk-forward")
    assert "trainings with different seeds earn" in section(page, "seeds")


def test_agents_that_may_trade_and_never_do_are_idle() -> None:
    test = example_dossier().test
    whole = replace(test.policies[0], n_trades=0, turnover_per_bar_frac=0.0)
    dossier = replace(example_dossier(), parts=(replace(test, policies=(whole,)),))

    assert no_agent_trades(dossier)
    assert not no_agent_trades(example_dossier())
