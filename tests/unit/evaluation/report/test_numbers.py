"""Numbers as they are written on the page."""

from __future__ import annotations

import math

import pytest

from tradingbot.evaluation.report.numbers import (
    bps,
    format_count,
    format_interval,
    money,
    percent,
    plain,
    sentence,
    share,
    typeset,
    with_interval,
)
from tradingbot.evaluation.statistics.interval import Interval

THIN = "\u202f"


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (1.005, "1.00"),
        (-1.5, "−1.50"),
        (-0.001, "0.00"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (1234.5, f"1{THIN}234.50"),
        (12345.6, f"12{THIN}346"),
    ],
)
def test_number_is_written_with_its_sign_and_without_false_digits(
    number: float | None, written: str
) -> None:
    assert plain(number) == written


def test_sign_is_written_where_asked_for() -> None:
    assert plain(0.5, signed=True) == "+0.50"
    assert plain(-0.5, signed=True) == "−0.50"
    assert plain(0.0, signed=True) == "0.00"


def test_units_are_written_beside_numbers() -> None:
    assert percent(0.1234) == f"12.3{THIN}%"
    assert percent(math.nan) == "–"
    assert bps(1.5) == f"+1.50{THIN}bp"
    assert bps(None) == "–"
    assert money(3.2e7) == f"32{THIN}m"
    assert money(950.0) == "950"
    assert money(None) == "–"


def test_intervals_are_written_with_their_ends() -> None:
    assert with_interval(Interval(1.0, -0.5, 2.5)) == "1.00 [−0.50, 2.50]"
    assert with_interval(Interval(1.0, math.nan, math.nan)) == "1.00"
    assert with_interval(None) == "–"
    assert format_interval(None) == ""
    assert share(Interval(0.5, 0.25, 0.75)) == f"50{THIN}% [25, 75]"


def test_lines_do_not_break_between_number_and_unit() -> None:
    assert typeset("95 % of 12 bp and 3 more") == f"95{THIN}% of 12{THIN}bp and 3 more"
    assert typeset("3 bars, 2 months") == "3 bars, 2 months"


def test_comparisons_are_written_as_signs() -> None:
    assert typeset("a >= 1, b <= 2, c < 3") == "a ≥ 1, b ≤ 2, c < 3"


def test_minus_is_a_sign_and_dates_keep_their_hyphens() -> None:
    assert typeset("-1.09 [-4.61, 2.39] on 2025-09-08") == "−1.09 [−4.61, 2.39] on 2025-09-08"


def test_one_thing_is_not_many() -> None:
    assert [format_count(n, "windows") for n in (0, 1, 2)] == ["0 windows", "1 window", "2 windows"]


def test_sentences_begin_with_a_capital_and_end_once() -> None:
    assert sentence("all stay out") == "All stay out."
    assert sentence("All stay out. ") == "All stay out."
    assert sentence("") == ""


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("of 1,298 bars", f"of 1{THIN}298 bars"),
        ("-1,298,000.50 of it.", f"−1{THIN}298{THIN}000.50 of it."),
        ("(1,298 bars) [-0.07, 4.52]", f"(1{THIN}298 bars) [−0.07, 4.52]"),
        ("layers=128,128 and [256,128]", "layers=128,128 and [256,128]"),
        ("hidden 64,128,9 and x1,298", "hidden 64,128,9 and x1,298"),
        ("2025-01-03 … 2025-10-01", "2025-01-03 … 2025-10-01"),
    ],
)
def test_words_have_thousands_and_minus_as_figures_have(words: str, written: str) -> None:
    assert typeset(words) == written
