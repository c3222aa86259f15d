"""From a source to a stored dataset, with the real screening and the real store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
import pytest

from fixtures.template_source import TemplateImport, TemplateSource
from tradingbot.data.ingest import ingest
from tradingbot.data.schema import BAR_COLUMNS, COVARIATE_COLUMNS, require_bars
from tradingbot.data.sources.files import FileImport, FileSource
from tradingbot.data.sources.sentiment import read_sentiment
from tradingbot.data.sources.source import BarSource, Progress, RawBars, ignore_progress
from tradingbot.data.store import BarStore
from tradingbot.data.universes import load_universe
from tradingbot.domain.errors import ConfigError, DataError, SchemaError, UserError
from tradingbot.domain.timeframe import BarGrid
from tradingbot.domain.universe import Member, Universe

WEEK = TemplateImport(symbols=("AAPL", "MSFT"), start=date(2024, 6, 24), end=date(2024, 6, 28))


@dataclass(frozen=True)
class Altered:
    """The template's bars after a change; synthetic."""

    change: object
    id: str = "altered"

    def fetch(self, progress: Progress = ignore_progress) -> RawBars:
        raw = TemplateSource(WEEK).fetch(progress)
        return RawBars(self.change(raw.bars), raw.provenance)


def with_close(row: int, value: float) -> Altered:
    def change(bars: pl.DataFrame) -> pl.DataFrame:
        at_row = pl.int_range(pl.len()) == row
        return bars.with_columns(
            close=pl.when(at_row).then(pl.lit(value)).otherwise(pl.col("close"))
        )

    return Altered(change)


@pytest.fixture
def store(tmp_path):
    return BarStore(tmp_path)


def sentiment() -> pl.DataFrame:
    at = datetime(2024, 6, 24, tzinfo=UTC)
    return pl.DataFrame(
        {"symbol": ["AAPL"], "name": ["sentiment"], "available_at": [at], "value": [0.5]},
        schema=COVARIATE_COLUMNS,
    )


def test_template_source_fulfils_the_protocol_and_the_schema():
    source: BarSource = TemplateSource(WEEK)
    steps: list[tuple[int, int, str]] = []
    raw = source.fetch(lambda *step: steps.append(step))
    require_bars(raw.bars, where="template")
    assert dict(raw.bars.schema) == BAR_COLUMNS
    assert raw.bars.height == 2 * 5 * 7
    assert raw.provenance.provider == source.id
    assert raw.provenance.synthetic
    assert steps[-1][:2] == (2, 2)


def test_template_source_bad_configuration_is_refused():
    with pytest.raises(ConfigError, match="at least one"):
        TemplateSource(WEEK.model_copy(update={"symbols": ()})).fetch()
    with pytest.raises(DataError, match="symbol must be"):
        TemplateSource(WEEK.model_copy(update={"symbols": ("../A",)})).fetch()


def test_ingest_clean_bars_stores_them_under_the_name(store):
    result = ingest(TemplateSource(WEEK), store, name="week", extra_covariates=sentiment())
    opened = store.open("week")
    assert opened.id == result.dataset.id
    assert opened.load_bars().equals(TemplateSource(WEEK).fetch().bars)
    assert opened.load_covariates().equals(sentiment())
    assert opened.load_quarantine().is_empty()


def test_ingest_bad_row_is_quarantined_with_a_reason_and_found(store):
    result = ingest(with_close(3, float("nan")), store, name="week")
    assert result.dataset.manifest.rows == 69
    quarantine = result.dataset.load_quarantine()
    assert quarantine.height == 1
    assert quarantine["reason"][0]
    assert quarantine["code"][0] in {finding.code for finding in result.findings}


def test_ingest_strict_refuses_the_bad_row_and_stores_nothing(store):
    with pytest.raises(DataError, match="AAPL"):
        ingest(with_close(3, float("nan")), store, name="week", strict=True)
    assert store.datasets() == []


def test_ingest_negative_price_refuses_the_file_and_keeps_the_old(store):
    old = ingest(TemplateSource(WEEK), store, name="week").dataset
    with pytest.raises(DataError):
        ingest(with_close(3, -1.0), store, name="week")
    assert store.open("week").id == old.id


def test_ingest_repeated_rows_are_dropped_once_and_conflicts_refused(store):
    repeated = Altered(lambda bars: pl.concat([bars, bars.head(1)]).sort("symbol", "closed_at"))
    result = ingest(repeated, store, name="week")
    assert result.dataset.manifest.rows == 70
    assert result.findings
    other = pl.lit(100.5).alias("close")
    conflicting = Altered(
        lambda bars: pl.concat([bars, bars.head(1).with_columns(other)]).sort("symbol", "closed_at")
    )
    with pytest.raises(DataError):
        ingest(conflicting, store, name="week")


def test_ingest_nothing_usable_is_refused(store):
    hopeless = Altered(lambda bars: bars.with_columns(close=pl.lit(float("nan"))))
    with pytest.raises(DataError, match="all 70 quarantined"):
        ingest(hopeless, store, name="week")


def test_ingest_nothing_usable_names_each_reason_once(store):
    hopeless = Altered(lambda bars: bars.with_columns(close=pl.lit(float("nan"))))
    with pytest.raises(DataError) as refusal:
        ingest(hopeless, store, name="week")
    assert refusal.value.remedy == "price must be a number: 70"


def test_ingest_repeated_rows_are_kept_in_quarantine(store):
    repeated = Altered(lambda bars: pl.concat([bars, bars.head(1)]).sort("symbol", "closed_at"))
    dataset = ingest(repeated, store, name="week").dataset
    assert dataset.load_quarantine()["code"].to_list() == ["DUPLICATE_ROW"]
    assert dataset.manifest.quarantined_rows == 1
    with pytest.raises(DataError, match="DUPLICATE_ROW"):
        ingest(repeated, store, name="week", strict=True)


def test_ingest_unknown_symbols_are_refused_with_a_suggestion(store):
    near = Universe("near", (Member("AAPL"), Member("MSFTX")))
    with pytest.raises(DataError, match=r"universe near, was MSFT\. Did you mean 'MSFTX'\?"):
        ingest(TemplateSource(WEEK), store, name="week", universe=near)
    with pytest.raises(DataError, match=r"was AAPL, MSFT.*--symbols"):
        ingest(TemplateSource(WEEK), store, name="week", universe=load_universe("crypto12"))
    known = ingest(TemplateSource(WEEK), store, name="week", universe=load_universe("us143"))
    assert known.dataset.manifest.symbols == ("AAPL", "MSFT")


def test_ingest_bad_name_is_refused_before_anything_is_fetched(store):
    fetched = []
    source = Altered(lambda bars: fetched.append(1) or bars)
    with pytest.raises(DataError, match="dataset name"):
        ingest(source, store, name="Not Good")
    assert not fetched


def test_ingest_same_covariate_twice_is_refused(store):
    with pytest.raises(SchemaError, match="covariates"):
        ingest(TemplateSource(WEEK), store, name="week",
               extra_covariates=pl.concat([sentiment()] * 2))  # fmt: skip


def test_ingest_unreadable_file_leaves_the_store_untouched(store, tmp_path):
    (tmp_path / "bars.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(UserError):
        ingest(FileSource(FileImport(path=tmp_path / "bars.csv")), store, name="week")
    assert not (tmp_path / "datasets").exists()


@pytest.mark.parametrize(
    ("name", "options", "universe"),
    [
        ("us_hourly_2023_2025", {}, "us143"),
        ("us_hourly_2018_2023", {"grid": BarGrid.CLOCK, "symbols": ("AAPL", "XOM")}, None),
        ("crypto_hourly_2023_2025", {"calendar": "24/7", "adjustment": "none"}, "crypto12"),
    ],
)
def test_ingest_real_file_keeps_almost_every_row(store, real_data: Path, name, options, universe):
    source = FileSource(FileImport(path=real_data / f"{name}.parquet", **options))
    covariates = read_sentiment(real_data / "sentiment_daily_finbert.parquet")
    result = ingest(
        source, store, name="real", universe=load_universe(universe) if universe else None,
        extra_covariates=covariates,
    )  # fmt: skip
    manifest = result.dataset.manifest
    assert manifest.quarantined_rows / (manifest.rows + manifest.quarantined_rows) < 0.002
    assert manifest.rows + manifest.quarantined_rows == manifest.provenance.detail["rows"]
    require_bars(result.dataset.load_bars(), where="stored")
