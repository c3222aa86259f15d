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


def test_maps_over_two_inputs_name_bins_period_and_seed() -> None:
    dossier = example_dossier()
    assert dossier.policy is not None
    page = render_dossier(dossier, example_memo())
    plane = dossier.policy.planes[0]
    first, second = plane.axes
    chart = page.split(f"Action by {first} and {second}</h3>")[1].split("</figure>")[0]
    low, high = plane.edges[0][:2]
    row = f"{low:.2g} … {high:.2g}".replace("-", "−")
    assert f">{row}</text>" in chart
    cell = f"{plane.cells[0][-1]:.2f}".replace("-", "−")
    assert re.search(rf"<title>{re.escape(first)} {row}, .*: {cell}</title>", chart)
    for title in (f"Action by {first} and {second}", "What the critic expects", "Where it looks"):
        told = page.split(f"{title}</h3>")[1].split("</figure>")[0]
        assert f"seed {dossier.header.seed}" in told
        assert dossier.test.first_day in told


def test_attention_map_shows_shares_of_the_features_that_matter_most() -> None:
    dossier = example_dossier()
    assert dossier.policy is not None
    policy = replace(
        dossier.policy,
        attention_features=("calm", "strong"),
        attention_map=((0.1, 0.5), (0.0, 0.4)),
    )
    page = render_dossier(replace(dossier, policy=policy), example_memo())
    chart = page.split("What it looks at, and when</h3>")[1].split("</figure>")[0]
    assert chart.index("strong") < chart.index("calm")
    assert re.findall(r">(\d+\.\d)</text>", chart) == ["50.0", "40.0", "10.0", "0.0"]


def test_page_says_why_there_is_no_landscape_no_attention_and_nothing_sampled() -> None:
    dossier = example_dossier()
    assert dossier.policy is not None
    policy = replace(
        dossier.policy,
        value_landscape=None,
        value_axes=None,
        attention=None,
        attention_map=(),
        attention_features=(),
        sampled=None,
        unavailable=(
            ("value landscape", "learner direct has no critic"),
            ("sampled actions", "no agent trades"),
        ),
    )
    page = render_dossier(replace(dossier, policy=policy), example_memo())
    assert "Without sampled actions: no agent trades." in page
    assert "Without value landscape: learner direct has no critic." in page
    assert "Without attention: the encoder has none." in page
    assert "What it looks at" not in page


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
