from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fixtures.example_dossier import example_dossier, example_memo
from tradingbot.evaluation.dossier.analysis import StateActionMap
from tradingbot.evaluation.pipeline.assembly import action_words
from tradingbot.evaluation.report.dossier_page import render_dossier
from tradingbot.market.params import ActionRules, ActionSpace, SimulatorParams
from tradingbot.risk.limits import RiskLimits


def test_label_that_rounds_to_the_one_before_is_not_written_again() -> None:
    dossier = example_dossier()
    assert dossier.policy is not None
    close = StateActionMap("own size", (0.0, 0.9991, 0.9996, 1.0), (0.4, 0.9, 0.9), (9, 9, 9))

    page = render_dossier(
        replace(dossier, policy=replace(dossier.policy, maps=(close,))), example_memo()
    )
    chart = page.split("Action by own size</h3>")[1].split("</svg>")[0]

    assert re.findall(r">(0|1)</text>", chart) == ["0", "1"]


@pytest.mark.parametrize(
    ("space", "allow_short", "said", "unsaid"),
    [
        ("target", False, "target position: 0 out, 1 all in", "short"),
        ("target", True, "target position: −1 all short, 0 out, 1 all in", "order"),
        ("continuous", False, "above 0 buys that share of what may be bought", "target"),
        ("continuous", True, "sells the position and goes short", "target"),
        ("discrete", False, "codes of orders", "target"),
    ],
)
def test_page_says_what_an_action_means(
    space: ActionSpace, allow_short: bool, said: str, unsaid: str
) -> None:
    rules = SimulatorParams(
        limits=RiskLimits(allow_short=allow_short), action=ActionRules(space=space)
    )
    dossier = example_dossier()
    header = replace(dossier.header, actions=action_words(rules))

    page = render_dossier(replace(dossier, header=header), example_memo())

    assert page.count(header.actions) == 2  # range of actions, and their histogram
    assert said in header.actions
    assert unsaid not in header.actions
