"""From a stored dataset to a certified panel, step by step."""

from __future__ import annotations

import shutil
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from tradingbot.configuration.pipeline import (
    MarketConfig,
    PipelineConfig,
    ProofConfig,
    ScalingConfig,
    SplitsConfig,
)
from tradingbot.data.splits import IndexRange
from tradingbot.data.store import BarStore
from tradingbot.data.universes import load_universe
from tradingbot.domain.errors import DataError, StorageError, UncertifiedPanelError, UserError
from tradingbot.features.panel import Panel
from tradingbot.features.pipeline import (
    BuiltPanel,
    build_features,
    fit_and_store_scaler,
    prove_features,
    read_inputs,
    split_rows,
    synthetic_source,
    validate_dataset,
)

CONFIG = PipelineConfig(proof=ProofConfig(common_rounds=1, staggered_rounds=1))


@pytest.fixture(scope="module")
def built(synthetic_store: BarStore) -> BuiltPanel:
    return build_features(synthetic_store.open("regimes"), synthetic_store.root)


def test_panel_of_another_set_lies_beside_the_default(
    built: BuiltPanel, synthetic_store: BarStore
) -> None:
    relative = build_features(built.dataset, synthetic_store.root, feature_set="relative").panel

    assert relative.folder != built.panel.folder
    assert relative.manifest.features[:23] == built.panel.manifest.features
    assert relative.numpy("features").shape[-1] == 32
    same = relative.numpy("features")[..., :23] == built.panel.numpy("features")
    assert same[relative.numpy("valid") & built.panel.numpy("valid")].all()


def hours(count: int) -> np.ndarray:
    return np.datetime64("2024-01-01T00", "us") + np.arange(count) * np.timedelta64(1, "h")


def test_synthetic_source_follows_the_configuration() -> None:
    config = MarketConfig(
        name="planted",
        universe="prototype10",
        start=date(2025, 9, 1),
        end=date(2025, 9, 3),
        seed=3,
        params={"kappa": 0.2},
    )

    raw = synthetic_source(config).fetch()

    assert set(raw.bars["symbol"]) == set(load_universe("prototype10").symbols)
    assert raw.provenance.synthetic
    detail = raw.provenance.detail
    assert (detail["market"], detail["seed"], detail["param.kappa"]) == ("planted", 3, 0.2)


def test_validate_dataset_judges_members_against_the_universe(synthetic_store: BarStore) -> None:
    dataset = synthetic_store.open("regimes")

    own = validate_dataset(dataset, universe=load_universe("prototype10"), trailing_bars=50)
    other = validate_dataset(dataset, universe=load_universe("us143"), trailing_bars=50)

    assert (own.ready, own.exit_code, own.synthetic) == (True, 0, True)
    assert "SYMBOL_ABSENT" not in {row["code"] for row in own.summary_rows()}
    assert len(other.summary_rows()) > len(own.summary_rows())


def test_read_inputs_lays_bars_on_the_grid_in_the_exchanges_zone(synthetic_store: BarStore) -> None:
    dataset = synthetic_store.open("planted")

    inputs = read_inputs(dataset)

    assert inputs.symbols == dataset.manifest.symbols
    assert inputs.time_zone == "America/New_York"
    assert inputs.shape[0] * inputs.shape[1] == dataset.manifest.rows
    assert "signal" in inputs.covariates


def test_build_features_twice_gives_the_same_panel(
    built: BuiltPanel, synthetic_store: BarStore
) -> None:
    again = build_features(built.dataset, synthetic_store.root)

    assert again.panel.folder == built.panel.folder
    assert again.panel.manifest == built.panel.manifest
    assert built.panel.manifest.synthetic is True
    assert built.panel.manifest.dataset_sha256 == built.dataset.manifest.content_sha256


def test_split_rows_by_ratio_leaves_the_gaps_out() -> None:
    config = SplitsConfig(train=0.5, validation=0.25, test=0.25, purge_bars=3, embargo_bars=2)

    split = split_rows(hours(400), config)

    assert split.train.start == 0
    assert split.test.stop == 400
    assert split.validation.start - split.train.stop == 5
    assert split.test.start - split.validation.stop == 5
    assert len(split.train) == pytest.approx(200, abs=5)


def test_split_rows_by_date_ends_each_part_on_its_last_day() -> None:
    config = SplitsConfig(
        by="date",
        train=date(2024, 1, 5),
        validation=date(2024, 1, 8),
        test=date(2024, 1, 10),
        purge_bars=1,
        embargo_bars=0,
    )
    closed_at = hours(24 * 12)

    split = split_rows(closed_at, config)

    # Bars that close at midnight end the day before; the purge takes one bar at each boundary.
    assert (split.train.start, str(closed_at[split.train.stop])) == (
        0,
        "2024-01-06T00:00:00.000000",
    )
    assert str(closed_at[split.validation.start]) == "2024-01-06T01:00:00.000000"
    assert str(closed_at[split.test.start]) == "2024-01-09T01:00:00.000000"
    assert str(closed_at[split.test.stop - 1]) == "2024-01-11T00:00:00.000000"


def test_split_rows_from_a_first_day_leaves_earlier_bars_in_no_part() -> None:
    days = {"train": date(2024, 1, 8), "validation": date(2024, 1, 10), "test": date(2024, 1, 12)}
    closed_at = hours(24 * 14)

    split = split_rows(closed_at, SplitsConfig(by="date", train_from=date(2024, 1, 4), **days))

    assert str(closed_at[split.train.start]) == "2024-01-04T01:00:00.000000"
    assert split.dropped[0] == IndexRange(0, split.train.start)
    assert split.test == split_rows(closed_at, SplitsConfig(by="date", **days)).test


def test_splits_with_a_first_day_out_of_place_are_refused() -> None:
    days = {"train": date(2024, 1, 8), "validation": date(2024, 1, 10), "test": date(2024, 1, 12)}
    with pytest.raises(ValidationError, match="before train"):
        SplitsConfig(by="date", train_from=date(2024, 1, 8), **days)
    with pytest.raises(ValidationError, match="by: date"):
        SplitsConfig(train_from=date(2024, 1, 1))


def test_splits_are_written_with_a_first_day_only_where_they_have_one() -> None:
    """Runs made before there was such a field keep the hash of their configuration."""
    days = {"train": date(2024, 1, 8), "validation": date(2024, 1, 10), "test": date(2024, 1, 12)}
    later = SplitsConfig(by="date", train_from=date(2024, 1, 4), **days)
    assert "train_from" not in SplitsConfig().model_dump(mode="json")
    assert later.model_dump(mode="json")["train_from"] == "2024-01-04"


def test_split_rows_outside_the_data_is_refused() -> None:
    config = SplitsConfig(
        by="date", train=date(2030, 1, 5), validation=date(2030, 1, 8), test=date(2030, 1, 10)
    )

    with pytest.raises(UserError):
        split_rows(hours(240), config)


def test_scaler_is_fitted_on_training_rows_alone(built: BuiltPanel) -> None:
    split = split_rows(built.inputs.closed_at, SplitsConfig())

    scaler = fit_and_store_scaler(built, split, ScalingConfig(kind="standard"))

    assert (scaler.kind, scaler.train_first, scaler.train_last) == (
        "standard",
        split.train.start,
        split.train.stop - 1,
    )
    stored = list((built.panel.folder / "scalers").rglob("*"))
    assert any(path.is_file() for path in stored)
    features, valid = built.panel.numpy("features"), built.panel.numpy("valid")
    train = slice(split.train.start, split.train.stop)
    names = built.panel.manifest.features
    scaled = scaler.transform(np.asarray(features), np.asarray(valid), feature_names=names)
    moment = scaled[:, train][valid[:, train]].mean(axis=0)
    np.testing.assert_allclose(moment, 0.0, atol=1e-4)


def test_proof_opens_the_gate_and_names_the_split(tmp_path: Path, built: BuiltPanel) -> None:
    fresh = build_features(built.dataset, tmp_path)
    with pytest.raises(UncertifiedPanelError):
        Panel.open(fresh.panel.folder)
    told: list[int] = []

    report, certificate = prove_features(fresh, CONFIG, progress=lambda done, *_: told.append(done))

    split = split_rows(fresh.inputs.closed_at, CONFIG.splits)
    assert report.is_causal
    assert certificate is not None
    assert {split.train.stop, split.validation.start, split.test.start} <= set(report.common_cuts)
    assert told
    assert Panel.open(fresh.panel.folder).certificate == certificate


def test_read_inputs_of_damaged_bars_is_refused(synthetic_store: BarStore, tmp_path: Path) -> None:
    shutil.copytree(synthetic_store.root, tmp_path / "copy")
    dataset = BarStore(tmp_path / "copy").open("planted")
    file = dataset.folder / "bars.parquet"
    file.write_bytes(file.read_bytes()[:-1])

    with pytest.raises(StorageError, match="match its manifest"):
        read_inputs(dataset)


def test_build_features_of_a_dataset_with_errors_is_refused_unless_accepted(
    synthetic_store: BarStore, tmp_path: Path
) -> None:
    """Every bar five hours early: off the grid, and a look-ahead that no proof could see."""
    source = synthetic_store.open("planted")
    shift = pl.col("closed_at", "known_at") - timedelta(hours=5)
    provenance = source.manifest.provenance.model_copy(update={"synthetic": False})
    store = BarStore(tmp_path)
    early = store.save(source.load_bars().with_columns(shift), provenance, name="early")

    with pytest.raises(DataError, match=r"must be ready .* was errors: .*--accept") as refused:
        build_features(early, tmp_path)
    assert not list(tmp_path.glob("panels/*"))

    codes = str(refused.value.was).removeprefix("errors: ").split(", ")
    panel = build_features(early, tmp_path, accept=codes).panel
    assert panel.manifest.accepted_findings == tuple(sorted(codes))
    assert build_features(early, tmp_path).panel.symbols  # it was accepted when it was built
