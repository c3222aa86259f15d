from __future__ import annotations

from dataclasses import replace

from fixtures.example_dossier import bare_dossier, example_dossier, example_memo
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.report.dossier_page import render_dossier
from tradingbot.evaluation.report.sections.origin import origin_section
from tradingbot.evaluation.report.table import Table


def said(dossier: Dossier) -> dict[str, str]:
    (table,) = [block for block in origin_section(dossier).blocks if isinstance(block, Table)]
    return {name.text: value.text for name, value in table.rows}


def test_what_gates_ask_of_data_and_training_is_shown() -> None:
    full = example_dossier()
    assert full.training is not None
    facts = replace(
        full.training, symbols_without_bars=("XYZ",), updates_not_finite=2, over_budget=("too big",)
    )
    found = said(replace(full, training=facts))

    assert found["Universe"] == "prototype10, 10 symbols; without bars: XYZ"
    assert found["Updates, and of these not finite"] == "120, 2"
    assert found["Scaler fitted on train only"] == "yes"
    assert found["Budgets of parameters"] == "too big"
    assert found["Stages of the curriculum that every agent passed"] == "4"
    assert "64" in found["Accuracy of regime, held out"]
    assert "base rate 42" in found["Accuracy of regime, held out"].replace("\u202f", "")


def test_what_is_not_known_of_training_is_left_out() -> None:
    assert "Universe" not in said(bare_dossier())


def test_gates_of_data_and_training_link_here() -> None:
    memo = example_memo()
    gate = replace(memo.gates[0], evidence="origin")

    page = render_dossier(example_dossier(), replace(memo, gates=(gate,)))

    assert '<a href="#origin">Reproduce</a>' in page.split('id="gates"')[1]
