"""Bars fed one by one give the same bits as the whole history at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fixtures.feature_markets import bars_of, closes_of, gappy_market, inputs_of, with_sentiment
from tradingbot.domain.errors import DataError
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import MarketInputs, join_as_of
from tradingbot.features.registry import (
    covariate_features,
    find_feature,
    regime_features,
    technical_features,
)
from tradingbot.features.spec import FeatureSpec, Form
from tradingbot.features.streaming import FeatureStream

ALL = (*technical_features("relative"), *regime_features())
NO_MARKET = (find_feature("open"), find_feature("overnight_residual"))  # symbols to symbols only


def batch_of(inputs: MarketInputs, specs: tuple[FeatureSpec, ...], form: Form) -> np.ndarray:
    """(T, N, F)."""
    features = compute_features(inputs, specs, form=form)
    return np.stack([features[spec.name] for spec in specs], axis=-1)


def stream_of(
    inputs: MarketInputs,
    specs: tuple[FeatureSpec, ...],
    form: Form,
    *,
    restart_at: frozenset[int] = frozenset(),
) -> np.ndarray:
    """(T, N, F); the stream is thrown away and restored from its snapshot at `restart_at`."""
    joined = {
        name: join_as_of(events, inputs.closed_at, len(inputs.symbols))
        for name, events in inputs.covariates.items()
    }
    stream = FeatureStream(inputs.symbols, specs, time_zone=inputs.time_zone, form=form)
    rows = []
    for t, closed_at in enumerate(inputs.closed_at):
        if t in restart_at:
            state = stream.snapshot()
            stream = FeatureStream(inputs.symbols, specs, time_zone=inputs.time_zone, form=form)
            stream.restore(state)
        bars = {name: values[t] for name, values in inputs.bars.items()}
        covariates = {name: values[t] for name, values in joined.items()}
        rows.append(stream.push(closed_at, inputs.present[t], bars, covariates))
    return np.stack(rows)


def assert_same_bits(streamed: np.ndarray, batch: np.ndarray) -> None:
    undefined = np.isnan(batch)
    np.testing.assert_array_equal(np.isnan(streamed), undefined)
    same = streamed.view(np.int64) == batch.view(np.int64)
    wrong = np.argwhere(~(same | undefined))
    assert not len(wrong), [(t, n, ALL[f].name) for t, n, f in wrong[:5].tolist()]


@pytest.mark.parametrize("form", ["raw", "network"])
@pytest.mark.parametrize("seed", [0, 1])
def test_stream_with_missing_bars_and_late_starters_equals_batch(form: Form, seed: int) -> None:
    inputs = gappy_market(420, 9, seed=seed)

    streamed = stream_of(inputs, ALL, form, restart_at=frozenset({3, 150, 151, 300}))

    assert_same_bits(streamed, batch_of(inputs, ALL, form))


def test_stream_does_not_look_at_what_stands_where_there_is_no_bar() -> None:
    inputs = gappy_market(220, 5)
    bars = {name: np.where(inputs.present, x, 1e30) for name, x in inputs.bars.items()}

    streamed = stream_of(replace(inputs, bars=bars), ALL, "network")

    assert_same_bits(streamed, batch_of(inputs, ALL, "network"))


def test_stream_of_complete_bars_equals_batch_across_blocks() -> None:
    inputs = with_sentiment(inputs_of(bars_of(closes_of("stepped", 400, 150))))

    assert_same_bits(stream_of(inputs, ALL, "network"), batch_of(inputs, ALL, "network"))


@settings(max_examples=15, deadline=None)
@given(length=st.integers(1, 60), n_symbols=st.integers(3, 6), seed=st.integers(0, 10_000))
def test_stream_of_any_market_equals_batch(length: int, n_symbols: int, seed: int) -> None:
    inputs = gappy_market(length, n_symbols, seed=seed)

    assert_same_bits(stream_of(inputs, ALL, "network"), batch_of(inputs, ALL, "network"))


def test_stream_of_real_bars_equals_batch(real_data: Path) -> None:
    rows = (
        pl.scan_parquet(real_data / "us_hourly_2023_2025.parquet")
        .filter(pl.col("symbol").is_in(["AAPL", "SPY", "XOM", "NVDA", "MCD"]))
        .collect()
        .sort("timestamp", "symbol")
    )
    grid = rows["timestamp"].unique().sort().head(500)
    rows = rows.filter(pl.col("timestamp") <= grid[-1])
    wide = {
        name: rows.pivot(on="symbol", index="timestamp", values=name)
        .sort("timestamp")
        .drop("timestamp")
        .cast(pl.Float64)
        .to_numpy()
        for name in ("open", "high", "low", "close", "volume")
    }
    bars = {**wide, "vwap": (wide["high"] + wide["low"] + wide["close"]) / 3}
    inputs = inputs_of(bars, present=~np.isnan(wide["close"]))

    assert_same_bits(stream_of(inputs, ALL, "network"), batch_of(inputs, ALL, "network"))


def test_stream_of_a_covariate_equals_batch() -> None:
    inputs = gappy_market(50, 4)
    inputs = replace(inputs, covariates={"signal": inputs.covariates["sentiment"]})
    specs = covariate_features(["signal"])

    assert_same_bits(stream_of(inputs, specs, "raw"), batch_of(inputs, specs, "raw"))


def test_stream_without_a_market_clock_is_restored_as_it_was() -> None:
    inputs = gappy_market(120, 4)

    streamed = stream_of(inputs, NO_MARKET, "raw", restart_at=frozenset({3, 60, 61}))

    assert_same_bits(streamed, batch_of(inputs, NO_MARKET, "raw"))


@pytest.mark.parametrize(
    ("specs", "parts"),
    [
        (NO_MARKET, ["symbol", "symbol_1"]),
        (technical_features(), ["symbol"]),
        ((*technical_features(), *regime_features()), ["symbol", "market"]),
        (ALL, ["symbol", "market", "symbol_2", "symbol_3"]),
    ],
    ids=["no_market", "default", "regimes", "all"],
)
def test_snapshot_names_each_stage_once(specs: tuple[FeatureSpec, ...], parts: list[str]) -> None:
    state = FeatureStream(["A"], specs).snapshot()

    assert [name.removesuffix("/ticks") for name in state if name.endswith("/ticks")] == parts


def test_push_of_a_late_bar_is_refused() -> None:
    stream = FeatureStream(["A"], [technical_features()[0]])
    bars = {"open": np.ones(1), "close": np.ones(1)}
    stream.push(np.datetime64("2024-01-02T16:00"), np.array([True]), bars)

    with pytest.raises(DataError, match="in order of their close, was 2024-01-02T15:00"):
        stream.push(np.datetime64("2024-01-02T15:00"), np.array([True]), bars)


@pytest.mark.parametrize("late", ["2024-01-02T15:00", "2024-01-02T16:00"])
def test_restored_stream_refuses_a_bar_it_has_had_already(late: str) -> None:
    bars = {"open": np.ones(1), "close": np.ones(1)}
    first = FeatureStream(["A"], [technical_features()[0]])
    first.push(np.datetime64("2024-01-02T16:00"), np.array([True]), bars)
    restored = FeatureStream(["A"], [technical_features()[0]])
    restored.restore(first.snapshot())

    with pytest.raises(DataError, match=f"in order of their close, was {late}"):
        restored.push(np.datetime64(late), np.array([True]), bars)
    restored.push(np.datetime64("2024-01-02T16:01"), np.array([True]), bars)


def test_stream_restored_from_before_the_first_bar_takes_any_bar() -> None:
    stream = FeatureStream(["A"], [technical_features()[0]])
    bars = {"open": np.ones(1), "close": np.ones(1)}
    before = stream.snapshot()
    stream.push(np.datetime64("2024-01-02T16:00"), np.array([True]), bars)

    stream.restore(before)

    stream.push(np.datetime64("2024-01-02T15:00"), np.array([True]), bars)


def test_push_without_a_needed_field_is_refused() -> None:
    stream = FeatureStream(["A"], [technical_features()[0]])

    with pytest.raises(DataError, match="'open' must have one value per symbol, was absent"):
        stream.push(np.datetime64("2024-01-02"), np.array([True]), {"close": np.ones(1)})


def test_restore_of_a_snapshot_of_other_symbols_is_refused() -> None:
    state = FeatureStream(["A"], ALL).snapshot()

    with pytest.raises(DataError, match="same features, form, time zone and symbols"):
        FeatureStream(["B"], ALL).restore(state)


@given(
    chosen=st.lists(st.sampled_from(ALL), min_size=1, max_size=5, unique_by=lambda spec: spec.name),
    seed=st.integers(0, 3),
    complete=st.booleans(),
    form=st.sampled_from(["raw", "network"]),
)
@example(chosen=list(NO_MARKET), seed=0, complete=False, form="raw")
@settings(max_examples=40, deadline=None)
def test_stream_any_list_of_features_equals_batch(
    chosen: list[FeatureSpec], seed: int, complete: bool, form: Form
) -> None:
    inputs = gappy_market(260, 4, seed=seed)
    if complete:
        inputs = inputs_of(bars_of(closes_of("random", 260, 4, seed=seed), seed=seed))
    specs = tuple(chosen)

    assert_same_bits(stream_of(inputs, specs, form), batch_of(inputs, specs, form))
