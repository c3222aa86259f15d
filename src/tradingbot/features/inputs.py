"""What features are computed from: bars and covariates as arrays on one time grid.

Axes: T time (rows of the grid), N symbols. Arrays are time-major, (T, N), because features step
through time; the panel that learners read is (N, T, F).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
TimeArray = NDArray[np.datetime64]

BAR_FIELDS = ("open", "high", "low", "close", "volume", "vwap")


@dataclass(frozen=True)
class CovariateEvents:
    """Point-in-time values of one covariate, sorted by `available_at`."""

    symbol_index: NDArray[np.int64]  # (K,) position on the symbol axis
    available_at: TimeArray  # (K,) datetime64[us], UTC
    values: FloatArray  # (K,)


@dataclass(frozen=True)
class MarketInputs:
    """Bars and covariates of N symbols on one grid of T closing times."""

    symbols: tuple[str, ...]  # N; by default in order of name, as datasets are
    closed_at: TimeArray  # (T,) datetime64[us], UTC, strictly increasing
    present: BoolArray  # (T, N) True where the symbol has a bar that closed then
    bars: Mapping[str, FloatArray]  # field → (T, N), NaN where absent; see BAR_FIELDS
    covariates: Mapping[str, CovariateEvents] = field(default_factory=dict)
    time_zone: str = "America/New_York"  # of the exchange: fixes the day of the week

    @property
    def shape(self) -> tuple[int, int]:
        """(T, N)."""
        t, n = self.present.shape
        return t, n

    def truncated(self, length: int) -> MarketInputs:
        """Keep the first `length` grid rows and the covariates available by the last of them."""
        last = self.closed_at[length - 1]
        return MarketInputs(
            symbols=self.symbols,
            closed_at=self.closed_at[:length],
            present=self.present[:length],
            bars={name: values[:length] for name, values in self.bars.items()},
            covariates={name: _until(events, last) for name, events in self.covariates.items()},
            time_zone=self.time_zone,
        )

    def from_row(self, first: int) -> MarketInputs:
        """Drop the grid rows before `first`; covariates that were available by then stay."""
        return replace(
            self,
            closed_at=self.closed_at[first:],
            present=self.present[first:],
            bars={name: values[first:] for name, values in self.bars.items()},
        )


def build_inputs(
    bars: pl.DataFrame,
    covariates: pl.DataFrame,
    *,
    symbols: Sequence[str] | None = None,
    time_zone: str = "America/New_York",
) -> MarketInputs:
    """Lay stored bars on the grid of all their closing times.

    Args:
        bars: Frame in the bar schema, sorted by symbol and close.
        covariates: Frame in the covariate schema.
        symbols: Which symbols, in which order; by default those of `bars` in order of appearance.
        time_zone: IANA name of the exchange's zone.

    Raises:
        DataError: If a wanted symbol has no bar, or a bar was known only after its close.
    """
    _require_known_at_close(bars)
    found = bars["symbol"].unique(maintain_order=True)
    order = tuple(found) if symbols is None else tuple(symbols)
    missing = set(order) - set(found)
    if missing:
        rule = "every symbol must have a bar"
        remedy = "Choose a dataset that has them or leave them out with --symbols"
        raise DataError(rule, was=f"none for {', '.join(sorted(missing)[:5])}", remedy=remedy)
    rows = _with_column(bars, order)
    closed_at = rows["closed_at"].unique().sort().to_numpy().astype("datetime64[us]")
    row = np.searchsorted(closed_at, rows["closed_at"].to_numpy().astype("datetime64[us]"))
    cell = row * len(order) + rows["column"].to_numpy()
    present = np.zeros((len(closed_at), len(order)), dtype=bool)
    present.reshape(-1)[cell] = True
    room = np.empty((len(BAR_FIELDS), *present.shape))
    if len(cell) < present.size:
        room.fill(np.nan)
    arrays = dict(zip(BAR_FIELDS, room, strict=True))
    for name, values in arrays.items():
        values.reshape(-1)[cell] = rows[name].to_numpy()
    return MarketInputs(order, closed_at, present, arrays, _events(covariates, order), time_zone)


def _require_known_at_close(bars: pl.DataFrame) -> None:
    is_late = bars["known_at"] > bars["closed_at"]
    if is_late.any():
        late = bars.filter(is_late)
        raise DataError(
            "bars must be known at their close to be decided on",
            was=f"{late.height} known later, first {late['symbol'][0]} {late['closed_at'][0]}",
            remedy="Leave late bars out, or stamp bars with the time they were known",
        )


def _with_column(frame: pl.DataFrame, order: Sequence[str]) -> pl.DataFrame:
    """Add each row's position on the symbol axis; rows of other symbols are left out."""
    column = frame["symbol"].cast(pl.Enum(list(order)), strict=False).to_physical().cast(pl.Int64)
    placed = frame.with_columns(column.alias("column"))
    return placed.drop_nulls("column") if column.null_count() else placed


def _events(covariates: pl.DataFrame, order: Sequence[str]) -> dict[str, CovariateEvents]:
    rows = _with_column(covariates, order).sort(["available_at", "column"], maintain_order=True)
    return {
        str(name): CovariateEvents(
            group["column"].to_numpy(),
            group["available_at"].to_numpy().astype("datetime64[us]"),
            group["value"].to_numpy(),
        )
        for (name,), group in rows.group_by(["name"], maintain_order=True)
    }


def _until(events: CovariateEvents, last: np.datetime64) -> CovariateEvents:
    count = int(np.searchsorted(events.available_at, last, side="right"))
    return CovariateEvents(
        events.symbol_index[:count], events.available_at[:count], events.values[:count]
    )


def join_as_of(events: CovariateEvents, closed_at: TimeArray, n_symbols: int) -> FloatArray:
    """Give each bar the last value that was available when it closed.

    Of values available at the same moment the last in order of `events` counts.

    Args:
        events: Values sorted by `available_at`.
        closed_at: (T,) closing times, increasing.
        n_symbols: N.

    Returns:
        (T, N) value with the latest `available_at` ≤ closing time; NaN where there is none.
    """
    length = len(closed_at)
    row = np.searchsorted(closed_at, events.available_at, side="left")
    used = row < length
    # Index of the event that takes effect at a cell; later events have the higher index.
    effective = np.full((length, n_symbols), -1, dtype=np.int64)
    np.maximum.at(effective, (row[used], events.symbol_index[used]), np.flatnonzero(used))
    np.maximum.accumulate(effective, axis=0, out=effective)
    values = np.append(events.values, np.nan)  # index −1 reads the NaN at the end
    return np.asarray(values[effective])
