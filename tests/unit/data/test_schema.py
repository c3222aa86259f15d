from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from tradingbot.data.schema import BAR_COLUMNS, COVARIATE_COLUMNS, require_bars, require_covariates
from tradingbot.domain.errors import SchemaError

START = datetime(2024, 1, 2, 15, 30, tzinfo=UTC)


def bars(*keys: tuple[str, int]) -> pl.DataFrame:
    rows = [
        (
            symbol,
            START + timedelta(hours=hour),
            START + timedelta(hours=hour),
            1.0,
            2.0,
            0.5,
            1.5,
            9.0,
            1.2,
        )
        for symbol, hour in keys
    ]
    return pl.DataFrame(rows, schema=BAR_COLUMNS, orient="row")


@pytest.mark.parametrize(
    "keys", [[], [("A", 0)], [("A", 0), ("A", 1), ("B", 0)], [("A", 5), ("B", 0)]]
)
def test_require_bars_sorted_unique_rows_pass(keys: list[tuple[str, int]]) -> None:
    frame = bars(*keys)

    assert require_bars(frame, where="here") is frame


@pytest.mark.parametrize(
    "keys",
    [
        [("A", 1), ("A", 0)],
        [("B", 0), ("A", 1)],
        [("A", 0), ("A", 0)],
        [("A", 0), ("B", 0), ("A", 1)],
        [("A", 0), ("A", 1), ("A", 2), ("A", 1)],
    ],
)
def test_require_bars_unsorted_or_repeated_rows_are_refused(keys: list[tuple[str, int]]) -> None:
    with pytest.raises(SchemaError, match=r"sorted by symbol, closed_at without repeats \(here\)"):
        require_bars(bars(*keys), where="here")


def test_require_bars_known_before_its_close_is_refused() -> None:
    frame = bars(("A", 0)).with_columns(known_at=pl.col("closed_at") - timedelta(seconds=1))

    with pytest.raises(SchemaError, match="known_at must not be before closed_at"):
        require_bars(frame, where="here")


def test_require_bars_empty_cell_is_refused() -> None:
    frame = bars(("A", 0)).with_columns(close=pl.lit(None, dtype=pl.Float64))

    with pytest.raises(SchemaError, match="no cell may be empty"):
        require_bars(frame, where="here")


def test_require_bars_wrong_type_lists_columns() -> None:
    with pytest.raises(SchemaError, match="volume Int64"):
        require_bars(bars(("A", 0)).with_columns(pl.col("volume").cast(pl.Int64)), where="here")


def test_require_covariates_third_key_breaks_ties() -> None:
    rows = [
        ("A", "s", START, 1.0),
        ("A", "s", START + timedelta(hours=1), 2.0),
        ("A", "t", START, 0.0),
    ]
    frame = pl.DataFrame(rows, schema=COVARIATE_COLUMNS, orient="row")

    assert require_covariates(frame, where="here") is frame
    with pytest.raises(SchemaError, match="sorted by symbol, name, available_at"):
        require_covariates(frame.reverse(), where="here")
