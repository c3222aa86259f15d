from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from fixtures.example_dossier import example_dossier, example_memo
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.report.dossier_page import render_dossier
from tradingbot.evaluation.report.sections import rewards


def section(dossier: Dossier) -> str:
    page = render_dossier(dossier, example_memo())
    return page.split('<section id="rewards"')[1].split("</section>")[0]


def test_page_shows_signal_and_noise_with_unit_period_discount_and_seed() -> None:
    dossier = example_dossier()
    text = section(dossier)
    assert "signal-to-noise ratio of 0.100 per bar" in text
    assert "correlates with the net return by 0.95" in text
    assert "−350 to −250 · 10⁻³: 5.0" in text
    assert "γ = 0.99" in text
    for title in ("Histogram of the reward", "Reward-to-go", "What training was paid"):
        told = text.split(f"{title}</h3>")[1].split("</figure>")[0]
        assert "2020-01-02 … 2021-05-28" in told
        assert f"seed {dossier.header.seed}" in told
    assert len(re.findall("<h3>Histogram of", text)) == 3  # the reward and two terms
    assert "another objective" not in text


def test_page_says_that_nothing_learned_from_the_reward() -> None:
    dossier = example_dossier()
    assert dossier.rewards is not None
    found = replace(dossier.rewards, is_learned=False, updates=(), course=())
    text = section(replace(dossier, rewards=found))
    assert "nothing was learned from this" in text
    assert "What training was paid" not in text


def test_page_says_why_rewards_were_left_out() -> None:
    left_out = (("rewards", "no agent trades"),)
    text = section(replace(example_dossier(), rewards=None, left_out=left_out))
    assert "Left out: no agent trades." in text


@pytest.mark.parametrize(
    ("number", "said"),
    [(-1.0, "−1\u202f000"), (0.266, "266"), (0.00711, "7.11"), (-0.0427, "−42.7"), (math.nan, "–")],
)
def test_small_numbers_are_written_without_powers_of_ten(number: float, said: str) -> None:
    assert rewards._small(number) == said
