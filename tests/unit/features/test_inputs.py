"""Bars laid on one grid of closing times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from tradingbot.data.schema import BAR_COLUMNS, COVARIATE_COLUMNS
from tradingbot.domain.errors import DataError
from tradingbot.features.inputs import build_inputs

START = datetime(2024, 1, 2, 15, 30, tzinfo=UTC)
NO_COVARIATES = pl.DataFrame(schema=COVARIATE_COLUMNS)


def bars(*keys: tuple[str, int]) -> pl.DataFrame:
    rows = []
    for symbol, hour in keys:
        at = START + timedelta(hours=hour)
        rows.append((symbol, at, at, 1.0, 2.0, 0.5, hour + 0.5, 9.0, 1.2))
    return pl.DataFrame(rows, schema=BAR_COLUMNS, orient="row")


def test_build_inputs_missing_bar_is_absent_and_nan() -> None:
    inputs = build_inputs(bars(("A", 0), ("A", 2), ("B", 0), ("B", 1)), NO_COVARIATES)

    np.testing.assert_array_equal(inputs.present, [[1, 1], [0, 1], [1, 0]])
    np.testing.assert_array_equal(inputs.bars["close"], [[0.5, 0.5], [np.nan, 1.5], [2.5, np.nan]])


def test_build_inputs_symbols_in_the_order_asked_for() -> None:
    inputs = build_inputs(bars(("A", 0), ("B", 1)), NO_COVARIATES, symbols=["B", "A"])

    np.testing.assert_array_equal(inputs.present, [[0, 1], [1, 0]])


def test_build_inputs_symbol_without_bars_is_refused() -> None:
    with pytest.raises(DataError, match="none for C"):
        build_inputs(bars(("A", 0)), NO_COVARIATES, symbols=["A", "C"])


def test_build_inputs_bar_known_after_its_close_is_refused() -> None:
    late = bars(("A", 0), ("A", 1)).with_columns(
        known_at=pl.col("closed_at") + pl.duration(seconds=pl.Series([0, 1]))
    )

    with pytest.raises(DataError, match="1 known later, first A"):
        build_inputs(late, NO_COVARIATES)


def test_truncated_keeps_covariates_available_by_the_last_close() -> None:
    scores = pl.DataFrame(
        [("A", "s", START + timedelta(minutes=m), float(m)) for m in (0, 60, 61)],
        schema=COVARIATE_COLUMNS,
        orient="row",
    )
    inputs = build_inputs(bars(("A", 0), ("A", 1), ("A", 2)), scores)

    assert inputs.truncated(2).covariates["s"].values.tolist() == [0.0, 60.0]
    assert inputs.truncated(2).shape == (2, 1)
