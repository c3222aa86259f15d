"""The facts of real bars that a page shows are the ones the real bars have."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest

from tradingbot.data.ingest import ingest
from tradingbot.data.sources.files import FileImport, FileSource
from tradingbot.data.store import BarStore
from tradingbot.evaluation.dataset_facts import known_sectors, load_real_facts
from tradingbot.evaluation.stylised_facts import measure_facts
from tradingbot.features.pipeline import read_inputs


def test_real_facts_are_finite_and_ordered() -> None:
    facts, _ = load_real_facts()

    for name, fact in facts.as_dict().items():
        assert math.isfinite(fact.median), name
        assert fact.low <= fact.median <= fact.high, name


def test_real_facts_label_says_real_and_which_period() -> None:
    _, label = load_real_facts()

    assert "real hourly bars" in label
    assert label.endswith("2023-10-02 … 2025-10-31")


def test_real_facts_measured_again_are_the_same(real_data: Path, tmp_path: Path) -> None:
    content = json.loads((files("tradingbot.evaluation") / "real_facts.json").read_text("utf-8"))
    file = tmp_path / "us_hourly_2023_2025.parquet"
    first = pl.lit(content["first"]).str.to_date()
    pl.scan_parquet(real_data / file.name).filter(
        pl.col("timestamp").dt.date() >= first
    ).collect().write_parquet(file)
    dataset = ingest(
        FileSource(FileImport(path=file)), BarStore(tmp_path / "w"), name="real"
    ).dataset

    measured = measure_facts(read_inputs(dataset), sectors=known_sectors()).as_dict()

    assert len(dataset.manifest.symbols) == content["symbols"]
    assert f"{dataset.manifest.first_closed_at:%Y-%m-%d}" == content["first"]
    assert f"{dataset.manifest.last_closed_at:%Y-%m-%d}" == content["last"]
    for name, fact in load_real_facts()[0].as_dict().items():
        again = measured[name]
        assert (again.median, again.low, again.high) == pytest.approx(
            (fact.median, fact.low, fact.high), rel=1e-3, abs=1e-3
        ), name
