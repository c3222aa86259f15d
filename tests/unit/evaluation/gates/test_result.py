from __future__ import annotations

import math
from dataclasses import replace

import pytest

from fixtures.example_dossier import around, example_memo

SHARPE = example_memo().gates[0]


@pytest.mark.parametrize(
    ("target", "words"), [(">= 0.7", "≥ 0.7"), ("< 1 at the low end", "< 1 at the low end")]
)
def test_target_is_told_with_its_sign(target: str, words: str) -> None:
    assert replace(SHARPE, target=target).wanted == words


@pytest.mark.parametrize(
    ("unit", "words"), [("bp/bar", "1.50 [1.00, 2.00] bp/bar"), ("fraction", "1.50 [1.00, 2.00]")]
)
def test_measured_figure_is_told_with_its_interval_and_unit(unit: str, words: str) -> None:
    assert replace(SHARPE, measured=1.5, interval=around(1.5, 0.5), unit=unit).found == words


@pytest.mark.parametrize(
    ("half", "words"),
    [
        (0.38, "-0.47 [-0.85, -0.09]"),
        (0.004, "-0.4732 [-0.4772, -0.4692]"),
        (0.0, "-0.4732 [-0.4732, -0.4732]"),
    ],
)
def test_figure_and_its_ends_have_the_same_decimals(half: float, words: str) -> None:
    figure = replace(SHARPE, measured=-0.4732, interval=around(-0.4732, half), unit="ratio")

    assert figure.found == words


def test_near_miss_of_one_is_not_rounded_to_one() -> None:
    assert replace(SHARPE, measured=0.9996, interval=None, unit="probability").found == "0.9996"


def test_nothing_measured_is_nothing_told() -> None:
    assert replace(SHARPE, measured=None).found == ""


@pytest.mark.parametrize(
    ("metric", "measured", "words"),
    [
        ("spa_p", 0.0, "< 0.001 (no draw was as good)"),
        ("spa_p", 0.012, "0.012"),
        ("cost_reserve", math.inf, "no cost in the range took it away"),
        ("cost_reserve", 3.0, "3 × assumed costs"),
        ("profit_factor", math.inf, "∞"),
    ],
)
def test_figure_at_the_edge_of_what_can_be_measured_is_told_in_words(
    metric: str, measured: float, words: str
) -> None:
    unit = "× assumed costs" if metric == "cost_reserve" else "ratio"
    gate = replace(SHARPE, metric=metric, measured=measured, interval=None, unit=unit)

    assert gate.found == words
