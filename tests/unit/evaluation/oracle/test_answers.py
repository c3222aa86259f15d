"""Oracles for one dataset or for all markets, and the table they are shown in."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.short_work import shortened_work
from tradingbot.data.ingest import ingest
from tradingbot.data.sources.files import FileImport, FileSource
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.oracle.action_rule import ActionRule, Information
from tradingbot.evaluation.oracle.known_answers import (
    QUESTIONS,
    answer_all,
    answer_dataset,
    label_of,
    oracle_rows,
)
from tradingbot.evaluation.oracle.result import OracleResult


@pytest.fixture(scope="module")
def everything() -> tuple[list[OracleResult], list[tuple[int, int]]]:
    told: list[tuple[int, int]] = []
    with shortened_work():
        results = answer_all(
            cost_bps=1.2, rule="long_only", progress=lambda done, of, _: told.append((done, of))
        )
    return results, told


def test_oracle_of_a_planted_dataset_answers_for_its_bars(synthetic_store: BarStore) -> None:
    dataset = synthetic_store.open("planted")

    (result,) = answer_dataset(dataset, cost_bps=1.2, rule="long_only")

    assert result.symbols * result.bars == dataset.manifest.rows
    assert result.terms.cost_frac == pytest.approx(1.2e-4)
    assert result.terms.information is Information.ATTAINABLE
    assert result.label == "synthetic"
    net = result.simulated.net_bps_per_bar
    assert result.expected_net_bps is not None
    assert net.low < result.expected_net_bps < net.high


def test_oracle_of_a_hidden_market_also_knows_everything(synthetic_store: BarStore) -> None:
    attainable, omniscient = answer_dataset(
        synthetic_store.open("hidden"), cost_bps=1.2, rule="long_only"
    )

    assert attainable.terms.information is Information.ATTAINABLE
    assert omniscient.terms.information is Information.OMNISCIENT
    assert (
        omniscient.simulated.net_bps_per_bar.estimate
        > attainable.simulated.net_bps_per_bar.estimate
    )


def test_oracle_costs_more_at_a_higher_cost(synthetic_store: BarStore) -> None:
    dataset = synthetic_store.open("planted")

    cheap, dear = (
        answer_dataset(dataset, cost_bps=cost, rule="long_only")[0] for cost in (0.0, 20.0)
    )

    assert cheap.expected_net_bps is not None
    assert dear.expected_net_bps is not None
    assert cheap.expected_net_bps > dear.expected_net_bps


def test_oracle_of_real_bars_is_refused(real_file: Path, tmp_path: Path) -> None:
    store = BarStore(tmp_path / "workspace")
    dataset = ingest(FileSource(FileImport(path=real_file)), store, name="real").dataset

    with pytest.raises(DataError, match=r"needs a synthetic dataset, was csv"):
        answer_dataset(dataset, cost_bps=1.2, rule="long_only")


def test_unknown_rule_is_refused_with_the_known_ones(synthetic_store: BarStore) -> None:
    with pytest.raises(ConfigError, match=r"long_only, long_short, was 'longonly'"):
        answer_dataset(synthetic_store.open("planted"), cost_bps=1.2, rule="longonly")
    with pytest.raises(ConfigError, match="Did you mean 'long_short'"):
        answer_all(cost_bps=1.2, rule="long_shrt")


def test_all_answers_cover_every_market_once(
    everything: tuple[list[OracleResult], list[tuple[int, int]]],
) -> None:
    results, told = everything

    assert {r.market for r in results} == {question.market for question in QUESTIONS}
    assert all(r.terms.action_rule is ActionRule("long_only") for r in results)
    asked = [(label_of(r), str(r.params), r.terms.information) for r in results]
    assert len(asked) == len(set(asked))
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1] > 0


def test_table_has_a_cell_for_every_column(
    everything: tuple[list[OracleResult], list[tuple[int, int]]],
) -> None:
    results, _ = everything

    columns, rows = oracle_rows(results)

    assert {len(row) for row in rows} == {len(columns)}
    assert len(rows) == len(results)
    first, net = rows[0], results[0].simulated.net_bps_per_bar
    assert first[0] == "planted κ=0.1"
    assert first[3] == f"{results[0].expected_net_bps:.2f}"
    assert first[4] == f"{net.estimate:.2f} [{net.low:.2f}, {net.high:.2f}]"
    noise = next(row for row in rows if str(row[0]).startswith("noise"))
    assert noise[2] == "never"
    unproved = [row for row, r in zip(rows, results, strict=True) if r.expected_net_bps is None]
    assert all(row[3] == "–" for row in unproved)
