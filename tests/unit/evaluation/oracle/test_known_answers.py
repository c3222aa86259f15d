"""The published table is what the code gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference.known_answers_table import (
    TABLE_BEGIN,
    TABLE_END,
    format_table,
    replace_table,
)
from tradingbot.evaluation.oracle.known_answers import (
    BARS,
    QUESTIONS,
    SEED,
    SYMBOLS,
    hourly_grid,
    known_answers,
)

PAGE = Path(__file__).resolve().parents[4] / "docs" / "concepts" / "oracles.md"


@pytest.fixture(scope="module")
def results():
    return known_answers()


def test_table_of_the_page_is_generated_again(results):
    page = PAGE.read_text(encoding="utf-8")

    assert replace_table(page, results).splitlines() == page.splitlines()


def test_replaced_table_keeps_the_page_around_it(results):
    page = f"before\n{TABLE_BEGIN}old{TABLE_END}\nafter\n"

    replaced = replace_table(page, results)

    assert replaced == f"before\n{TABLE_BEGIN}{format_table(results)}{TABLE_END}\nafter\n"


def test_page_names_size_period_and_seed_of_its_table(results):
    page = PAGE.read_text(encoding="utf-8")
    first, last = (str(time)[:10] for time in (results[0].first_close, results[0].last_close))

    assert f"{SYMBOLS} symbols × {BARS:,} hourly bars, {first} to {last}, seed {SEED}" in page


def test_every_row_is_labelled_synthetic_and_covers_its_expectation(results):
    assert len(results) == len(QUESTIONS)
    for result in results:
        assert result.label == "synthetic"
        assert (result.bars, result.symbols, result.seed) == (BARS, SYMBOLS, SEED)
        if result.expected_net_bps is not None:
            assert result.simulated.net_bps_per_bar.covers(result.expected_net_bps), result


@pytest.mark.parametrize("bars", [1, 10, 3528])
def test_hourly_grid_has_exactly_the_bars_asked_for(bars):
    grid = hourly_grid(3, bars)

    assert grid.shape == (bars, 3)
    assert grid.session[0] == 0
