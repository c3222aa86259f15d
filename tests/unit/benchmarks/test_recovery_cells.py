from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot_benchmarks.recovery.cell import (
    OBSERVED,
    Cell,
    CellResult,
    cell_config,
    missing_cells,
    read_results,
    run_cell,
)
from tradingbot_benchmarks.recovery.table import as_markdown, over_seeds, rows_of
from tradingbot_benchmarks.recovery.variants import VARIANTS


def result(market: str = "planted", variant: str = "sac", seed: int = 1) -> CellResult:
    figures = (0.05, 0.02, 0.2, 0.7, 0.4, 90.0, 1.0)
    return CellResult(market, variant, seed, 1_000, 9.0, 500, "synthetic", *figures)


@pytest.mark.parametrize("variant", VARIANTS)
def test_variant_keeps_what_the_first_version_trades_by(variant: str) -> None:
    base, config = (cell_config(Cell("regimes", name, 3)) for name in ("first_version", variant))
    assert config.task.rules.limits == base.task.rules.limits
    assert config.task.rules.account == base.task.rules.account
    assert (config.market, config.symbols, config.splits) == (
        base.market,
        base.symbols,
        base.splits,
    )
    assert config.task.cost_rates == base.task.cost_rates
    assert variant == "first_version" or config.config_hash != base.config_hash


def test_cell_has_a_market_of_its_seed_and_observed_bars_none() -> None:
    one, other = (cell_config(Cell("planted", "sac", seed)) for seed in (1, 2))
    assert one.market.seed != other.market.seed
    observed = cell_config(Cell(OBSERVED, "sac", 1), "bars")
    assert observed.dataset == "bars"


def test_unknown_variant_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="variant must be a known one"):
        cell_config(Cell("planted", "saac", 1))


def test_cells_of_the_file_are_not_made_again(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    assert read_results(path) == []
    path.write_text(json.dumps(asdict(result())) + "\n", encoding="utf-8")
    done = read_results(path)
    assert done == [result()]
    left = missing_cells(["planted"], ["sac", "es"], [1, 2], done)
    assert [(each.variant, each.seed) for each in left] == [("es", 1), ("sac", 2), ("es", 2)]


def test_value_is_the_share_of_the_oracle_or_alpha() -> None:
    assert result().value == pytest.approx(0.25)
    without = CellResult(**{**asdict(result()), "oracle_bps": None})
    assert without.value == pytest.approx(0.02)


def test_gain_is_paired_with_the_first_version_of_the_same_seed() -> None:
    def cell(variant: str, seed: int, net_bps: float) -> CellResult:
        return replace(result(variant=variant, seed=seed), net_bps=net_bps)

    results = [
        *(cell("first_version", seed, 0.02 * seed) for seed in (1, 2, 3)),
        *(cell("sac", seed, 0.02 * seed + 0.1) for seed in (1, 2, 3)),
        cell("es", 1, -0.5),
    ]

    first, sac, es = rows_of(results, "planted")

    assert first.gain is None
    assert sac.gain is not None
    assert sac.gain.low == pytest.approx(0.5)  # 0.1 of 0.2 bp, whatever the seed
    assert (sac.helps, es.helps, es.seeds) == ("yes", "?", 1)
    assert rows_of(results[1:], "planted")[1].gain is None  # one seed has no pair
    assert first.value.low < 0.1 < 0.3 < first.value.high  # wider than the three seeds
    text = as_markdown(results)
    assert "share of the oracle" in text
    assert "| `sac` | 0.70 [" in text


@pytest.mark.slow
def test_cell_is_trained_and_judged_on_bars_after_training() -> None:
    found = run_cell(Cell("planted", "first_version", 1), None, None, share=0.02)
    assert found.oracle_bps is not None
    assert found.oracle_bps > 0.0
    assert 0.0 <= found.entropy <= 1.0
    assert found.bars > 1_000


def test_interval_over_three_seeds_has_students_point_of_the_tables() -> None:
    found = over_seeds([0.0, 1.0, 2.0])

    assert found.estimate == 1.0
    assert found.high - 1.0 == 1.0 - found.low == pytest.approx(4.30265 / 3**0.5, rel=1e-5)


def test_page_has_the_rows_that_the_kept_cells_make() -> None:
    root = Path(__file__).resolve().parents[3]
    cells = read_results(root / "benchmarks" / "recovery_cells.jsonl")
    page = (root / "docs" / "results" / "recovery.md").read_text(encoding="utf-8")

    for market in {each.market for each in cells}:
        rows = rows_of(cells, market)
        assert {row.seeds for row in rows} == {3}  # or they are not paired
        assert all(row.gain is not None for row in rows if row.variant != "first_version")
    for line in as_markdown(cells).splitlines():
        assert line.startswith("###") or line in page
