"""Gate A: each limit at its edge."""

from __future__ import annotations

import numpy as np
import pytest

from tradingbot.data.json_files import as_json
from tradingbot.learning.task import ActionSpec
from tradingbot.training.action_gate import judge_actions, not_applied

BOX = ActionSpec("box")
EVEN = [1 / 7] * 7


Played = tuple[np.ndarray, np.ndarray, float]
"""Actions (S, N), histograms (N, bins) and trades per 1,000 steps of `judge_actions`."""


def scores(
    histogram: list[float], trades: float = 30.0, lowest: float = -1.0, highest: float = 1.0
) -> Played:
    return np.array([[lowest], [highest]]), np.array([histogram]), trades


def test_living_policy_passes() -> None:
    gate = judge_actions(*scores(EVEN), BOX)

    assert gate.is_passed
    assert gate.entropy == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (scores([0.5, 0, 0, 0, 0, 0, 0.5]), "entropy 0.36"),
        (scores([0.61, 0.1, 0.1, 0.1, 0.05, 0.02, 0.02]), "largest bin 61%"),
        (scores(EVEN, trades=20.0), "20 of 1,000 steps with a fill"),
        (scores(EVEN, lowest=-0.9), "range -0.90 … 1.00"),
        (scores(EVEN, highest=0.9), "range -1.00 … 0.90"),
    ],
)
def test_broken_limit_is_named(found: Played, words: str) -> None:
    (failure,) = judge_actions(*found, BOX).failures

    assert words in failure


def test_codes_have_no_range() -> None:
    codes = ActionSpec("discrete", n_actions=7)

    assert judge_actions(*scores(EVEN, lowest=0.0, highest=6.0), codes).is_passed


def test_words_name_the_gate_and_its_outcome() -> None:
    passed, failed = (
        judge_actions(*scores(EVEN), BOX),
        judge_actions(*scores(EVEN, trades=0.0), BOX),
    )

    assert passed.words == "gate A (actions are diverse): passed"
    start = "gate A (actions are diverse): not passed: 0 of 1,000 steps with a fill"
    assert failed.words.startswith(start)


def test_agents_that_stay_out_neither_pass_nor_fail() -> None:
    gate = not_applied(judge_actions(*scores([1.0, 0, 0, 0, 0, 0, 0], trades=0.0), BOX))

    assert gate.words == "gate A: not applicable, agents stay out"
    assert gate.failures == ()
    assert not gate.is_passed
    assert as_json(gate)["not_applicable"] == "agents stay out"
