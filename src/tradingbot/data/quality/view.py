"""The market as the checks see it: bars laid on the grid of bars that should exist.

Axes: T expected bars, N symbols in order of appearance. Nothing is judged here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.manifest import Provenance
from tradingbot.data.schema import UTC_TIME
from tradingbot.data.universes import membership_mask
from tradingbot.domain.errors import DataError
from tradingbot.domain.timeframe import Timeframe
from tradingbot.domain.universe import Universe

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

BREAK_FRAC = 0.2
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class ValidationContext:
    """What to validate against; the parts of a view that do not come from the bars."""

    provenance: Provenance
    covariates: pl.DataFrame
    universe: Universe | None
    quarantine: pl.DataFrame  # rows set aside at import, with `code`; no columns where none
    as_of: datetime | None
    trailing_bars: int


@dataclass(frozen=True)
class QualityView(ValidationContext):
    """Everything a market check may look at."""

    bars: pl.DataFrame
    """Bar schema plus `slot` (row of the grid, null off the grid), `column` (symbol's position),
    `prev_close` and `prev_slot` (null at a symbol's first bar)."""
    symbols: tuple[str, ...]  # N
    grid: pl.DataFrame  # T rows: session, opened_at, closed_at, session_index, is_half_day, is_dst
    sessions: pl.DataFrame  # every session of the days covered: session, opens_at, closes_at …
    present: BoolArray  # (T, N) True where the bar exists
    set_aside: BoolArray  # (T, N) True where it was quarantined at import
    expected: BoolArray  # (T, N) True where it should: inside the range and the membership
    first_slot: IntArray  # (N,) first present slot, T where none
    last_slot: IntArray  # (N,) last present slot, -1 where none
    overdue_bars: int  # expected bars between the last bar of the set and `as_of`
    time_zone: str
    timeframe: Timeframe

    @property
    def session_index(self) -> IntArray:
        """(T,) number of the session each slot belongs to, from 0."""
        return self.grid["session_index"].to_numpy().astype(np.int64)

    @property
    def session_starts(self) -> IntArray:
        """First slot of each session."""
        return np.flatnonzero(np.diff(self.session_index, prepend=-1))

    @property
    def lifetime(self) -> BoolArray:
        """(T, N) True from a symbol's first to its last bar."""
        slot = np.arange(len(self.grid))[:, None]
        return (slot >= self.first_slot) & (slot <= self.last_slot)

    @property
    def missing(self) -> BoolArray:
        """(T, N) True where a bar is absent between a symbol's first and last bar."""
        return self.lifetime & self.expected & ~self.present

    @cached_property
    def breaks(self) -> pl.DataFrame:
        """Bars that open a fifth or more away from the close before, with their `row` in `bars`."""
        ratio = pl.col("open") / pl.col("prev_close")
        is_break = (ratio <= 1 - BREAK_FRAC) | (ratio >= 1 / (1 - BREAK_FRAC))
        return self.bars.with_row_index("row").filter(is_break)

    def at(self, slots: NDArray[np.int64]) -> pl.Series:
        """Closing times of slots."""
        return self.grid["closed_at"].gather(slots)

    def names(self, columns: NDArray[np.int64]) -> pl.Series:
        """Symbols of columns."""
        return pl.Series("symbol", self.symbols, dtype=pl.String).gather(columns)


def build_view(bars: pl.DataFrame, question: ValidationContext) -> QualityView:
    """Lay at least one bar, sorted by symbol and close, on the expected grid.

    Raises:
        DataError: If their calendar has no session while they last.
    """
    timeframe = Timeframe.parse(question.provenance.timeframe)
    first, last = bars["closed_at"].min(), bars["closed_at"].max()
    assert isinstance(first, datetime)
    assert isinstance(last, datetime)
    end = max(last, question.as_of) if question.as_of else last
    calendar = TradingCalendar.load(
        question.provenance.calendar, first.date() - _DAY, end.date() + _DAY
    )
    every_bar = _describe_sessions(calendar, timeframe, question.provenance)
    grid = every_bar.filter(pl.col("closed_at").is_between(first, last)).with_columns(
        session_index=pl.col("session").rle_id()
    )
    if grid.is_empty():
        raise DataError(
            "bars must lie in sessions of their calendar",
            was=f"none of {question.provenance.calendar} from {first:%Y-%m-%d %H:%M} to "
            f"{last:%Y-%m-%d %H:%M} UTC",
            remedy="Import them with their own calendar: --calendar, e.g. 24/7",
        )
    laid = _lay(bars, grid)
    symbols = tuple(bars["symbol"].unique(maintain_order=True))
    present = _mark(laid["slot"], laid["column"], (grid.height, len(symbols)))
    is_any = present.any(axis=0)
    padded = np.vstack([present, np.zeros((1, len(symbols)), dtype=bool)])  # also of 0 rows
    return QualityView(
        bars=laid,
        symbols=symbols,
        grid=grid,
        sessions=calendar.sessions(),
        present=present,
        set_aside=_set_aside(question.quarantine, grid, symbols),
        expected=_expected(grid, symbols, question.universe),
        first_slot=np.where(is_any, padded.argmax(axis=0), grid.height),
        last_slot=np.where(is_any, grid.height - padded[::-1].argmax(axis=0), -1),
        overdue_bars=_overdue(every_bar, last, question.as_of),
        time_zone=calendar.time_zone,
        timeframe=timeframe,
        **vars(question),
    )


def _describe_sessions(
    calendar: TradingCalendar, timeframe: Timeframe, provenance: Provenance
) -> pl.DataFrame:
    local_open = pl.col("opens_at").dt.convert_time_zone(calendar.time_zone)
    sessions = calendar.sessions().select(
        "session",
        "is_half_day",
        # The first session under another UTC offset than the one before.
        is_dst=(local_open.dt.dst_offset().diff().fill_null(timedelta(0)) != timedelta(0)),
    )
    bars = calendar.bar_closes(timeframe, provenance.grid)
    return bars.join(sessions, on="session", how="left", maintain_order="left")


def _slots(stamps: pl.Series, grid: pl.DataFrame) -> pl.Series:
    """Row of the grid at which each bar closes, null where at none."""
    closes, wanted = (times.to_physical().to_numpy() for times in (grid["closed_at"], stamps))
    if not len(closes):
        return pl.repeat(None, len(wanted), dtype=pl.Int64, eager=True)
    slot = np.minimum(np.searchsorted(closes, wanted), len(closes) - 1)
    return pl.Series(slot).cast(pl.Int64).set(pl.Series(closes[slot] != wanted), None)


def _mark(slots: pl.Series, columns: pl.Series, shape: tuple[int, int]) -> BoolArray:
    marked = np.zeros(shape, dtype=bool)
    is_on = slots.is_not_null() & columns.is_not_null()
    marked[slots.filter(is_on).to_numpy(), columns.filter(is_on).to_numpy()] = True
    return marked


def _set_aside(quarantine: pl.DataFrame, grid: pl.DataFrame, symbols: tuple[str, ...]) -> BoolArray:
    shape = (grid.height, len(symbols))
    if quarantine.is_empty():
        return np.zeros(shape, dtype=bool)
    position = pl.DataFrame({"symbol": symbols}).with_row_index("column")
    rows = quarantine.drop_nulls(["symbol", "closed_at"])
    rows = rows.join(position, on="symbol", how="left", maintain_order="left")
    return _mark(_slots(rows["closed_at"], grid), rows["column"], shape)


def _lay(bars: pl.DataFrame, grid: pl.DataFrame) -> pl.DataFrame:
    laid = bars.with_columns(
        slot=_slots(bars["closed_at"], grid), column=pl.col("symbol").rle_id().cast(pl.Int64)
    )
    follows = pl.col("column") == pl.col("column").shift(1)
    return laid.with_columns(
        prev_close=pl.when(follows).then(pl.col("close").shift(1)),
        prev_slot=pl.when(follows).then(pl.col("slot").shift(1)),
    )


def _expected(grid: pl.DataFrame, symbols: tuple[str, ...], universe: Universe | None) -> BoolArray:
    if universe is None:
        return np.ones((grid.height, len(symbols)), dtype=bool)
    closes = grid["closed_at"].to_numpy().astype("datetime64[us]")
    mask = membership_mask(universe, symbols, closes)
    # A symbol the universe does not know is reported as such, not as one without expected bars.
    mask[:, ~mask.any(axis=0)] = True
    return mask


def _overdue(every_bar: pl.DataFrame, last: datetime, as_of: datetime | None) -> int:
    if as_of is None:
        return 0
    closed_at = pl.col("closed_at")
    moment = pl.lit(as_of).cast(UTC_TIME)
    return every_bar.filter((closed_at > last) & (closed_at <= moment)).height
