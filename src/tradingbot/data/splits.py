"""Train, validation and test as index ranges on one time grid, kept apart by purge and embargo.

Chronological splits live here; walk-forward and combinatorial folds in `folds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.calendar import closing_day
from tradingbot.domain.day_range import DayRange
from tradingbot.domain.errors import ConfigError, DataError

TimeArray = NDArray[np.datetime64]


@dataclass(frozen=True, order=True)
class IndexRange:
    """Rows start … stop − 1 of the time grid.

    Example:
        >>> len(IndexRange(2, 5)), IndexRange(2, 5).indices().tolist()
        (3, [2, 3, 4])
    """

    start: int
    stop: int

    def __post_init__(self) -> None:
        """Refuse ranges that run backwards or begin before the grid."""
        if not 0 <= self.start <= self.stop:
            raise DataError("range must have 0 ≤ start ≤ stop", was=f"{self.start} … {self.stop}")

    def __len__(self) -> int:
        return self.stop - self.start

    def indices(self) -> NDArray[np.int64]:
        """The rows, ascending."""
        return np.arange(self.start, self.stop)


@dataclass(frozen=True)
class Gap:
    """What is dropped where two parts meet. The defaults are one trading day of hourly bars."""

    purge_bars: int = 7
    """Bars dropped from the end of the earlier part: their labels reach into the later one."""
    embargo_bars: int = 7
    """Bars dropped from the start of the part that follows: still correlated with the earlier."""
    label_horizon_bars: int = 1
    """How many bars ahead a label looks; the purge must cover it."""

    def __post_init__(self) -> None:
        """Refuse negative lengths and labels that would cross the boundary (D29)."""
        for name in ("purge_bars", "embargo_bars", "label_horizon_bars"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} must not be negative", was=getattr(self, name))
        if self.label_horizon_bars > self.purge_bars:
            raise ConfigError(
                "purge_bars must cover label_horizon_bars, or training labels reach into the test",
                was=f"purge {self.purge_bars}, horizon {self.label_horizon_bars}",
                remedy=f"Use purge_bars={self.label_horizon_bars} or more",
            )


DEFAULT_GAP = Gap()


@dataclass(frozen=True)
class SplitDates:
    """Boundaries by day; the defaults are those of the default data range."""

    train_from: date = date(2023, 10, 2)
    validation_from: date = date(2025, 1, 1)
    test_from: date = date(2025, 8, 1)
    test_until: date = date(2025, 10, 1)
    """Last day of the test, included."""

    def __post_init__(self) -> None:
        """Refuse boundaries out of order."""
        days = (self.train_from, self.validation_from, self.test_from)
        if not (days[0] < days[1] < days[2] <= self.test_until):
            raise ConfigError(
                "split dates must be in order: train, validation, test, end",
                was=" ".join(str(day) for day in (*days, self.test_until)),
                remedy="Choose dates inside the data, or split by ratio",
            )


DEFAULT_DATES = SplitDates()


@dataclass(frozen=True)
class Split:
    """Three parts in order of time on a grid of `length` rows, at least a gap apart.

    `train` and `validation` have lost the purge at their end, `validation` and `test` the embargo
    at their start.
    """

    length: int
    train: IndexRange
    validation: IndexRange
    test: IndexRange
    gap: Gap

    def __post_init__(self) -> None:
        """Refuse empty parts, overlap, or parts closer than the gap (D29)."""
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        for name, part in parts.items():
            if not len(part):
                rule = f"{name} must have a bar"
                remedy = "Move the boundary, lengthen the data or shorten purge and embargo"
                raise DataError(rule, was=f"none of {self.length}", remedy=remedy)
        if self.test.stop > self.length:
            raise DataError("split must lie on the grid", was=f"{self.test.stop} > {self.length}")
        apart = self.gap.purge_bars + self.gap.embargo_bars
        for earlier, later in (("train", "validation"), ("validation", "test")):
            between = parts[later].start - parts[earlier].stop
            if between < apart:
                rule = f"{later} must begin at least {apart} bars after {earlier} ends"
                remedy = "Parts that overlap or touch leak labels: use purge and embargo"
                raise DataError(rule, was=f"{between}", remedy=remedy)

    @property
    def dropped(self) -> tuple[IndexRange, ...]:
        """Rows in no part: before train, in the two gaps, after test; empty ones left out."""
        cuts = (
            IndexRange(0, self.train.start),
            IndexRange(self.train.stop, self.validation.start),
            IndexRange(self.validation.stop, self.test.start),
            IndexRange(self.test.stop, self.length),
        )
        return tuple(cut for cut in cuts if len(cut))

    def periods(self, closed_at: TimeArray) -> dict[str, DayRange]:
        """Return the days of each part: train, validation, test.

        Args:
            closed_at: (T,) closing times of the grid, UTC.
        """
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        days = {
            name: closing_day(closed_at[[part.start, part.stop - 1]])
            for name, part in parts.items()
        }
        return {
            name: DayRange(str(first), str(last), len(parts[name]))
            for name, (first, last) in days.items()
        }

    def use_of(self, bars: IndexRange) -> Literal["learned", "chosen", "earlier", "none"]:
        """Say what the bars served for: the strongest use that any of them had.

        "learned" from, or weights were "chosen" by them; "earlier" than all training: unseen, but
        what came after them is known when they are traded; "none": also bars that lie in a gap.
        """
        if bars.stop <= self.train.start:
            return "earlier"
        if bars.start < self.train.stop:
            return "learned"
        reach_it = bars.start < self.validation.stop and bars.stop > self.validation.start
        return "chosen" if reach_it else "none"


def split_by_ratio(
    closed_at: TimeArray,
    *,
    ratios: tuple[float, float, float] = (0.70, 0.15, 0.15),
    gap: Gap = DEFAULT_GAP,
) -> Split:
    """Split a grid by shares of its bars.

    Args:
        closed_at: (T,) closing times, strictly increasing.
        ratios: Shares of train, validation and test, in this order; they sum to 1.
        gap: Purge and embargo at both boundaries, taken out of the shares.

    Raises:
        ConfigError: If the shares are not positive or do not sum to 1.
        DataError: If the grid is not increasing or too short.
    """
    if min(ratios) <= 0 or abs(sum(ratios) - 1) > 1e-9:
        raise ConfigError(
            "ratios must be positive and sum to 1", was=ratios, remedy="Use 0.7 0.15 0.15"
        )
    length = _require_increasing(closed_at)
    validation_at = round(length * ratios[0])
    test_at = round(length * (ratios[0] + ratios[1]))
    return _split(length, (0, validation_at, test_at, length), gap)


def split_by_date(
    closed_at: TimeArray, *, dates: SplitDates = DEFAULT_DATES, gap: Gap = DEFAULT_GAP
) -> Split:
    """Split a grid at the start of days; a bar belongs to its `closing_day`.

    Args:
        closed_at: (T,) closing times, UTC, strictly increasing.
        dates: Where the parts begin and the last ends.
        gap: Purge and embargo at both boundaries.

    Raises:
        DataError: If a part has no bar, or the grid is not increasing.
    """
    length = _require_increasing(closed_at)
    days = closing_day(closed_at)
    starts = np.array([dates.train_from, dates.validation_from, dates.test_from], "datetime64[D]")
    first, validation_at, test_at = (int(i) for i in np.searchsorted(days, starts))
    end = int(np.searchsorted(days, np.datetime64(dates.test_until), side="right"))
    return _split(length, (first, validation_at, test_at, end), gap)


def _split(length: int, cuts: tuple[int, int, int, int], gap: Gap) -> Split:
    first, validation_at, test_at, end = cuts
    return Split(
        length,
        _shrunk(first, validation_at - gap.purge_bars),
        _shrunk(validation_at + gap.embargo_bars, test_at - gap.purge_bars),
        _shrunk(test_at + gap.embargo_bars, end),
        gap,
    )


def _shrunk(start: int, stop: int) -> IndexRange:
    return IndexRange(start, max(start, stop))


def _require_increasing(closed_at: TimeArray) -> int:
    if closed_at.ndim != 1 or not np.all(closed_at[1:] > closed_at[:-1]):
        raise DataError("closing times must be one strictly increasing row", was=closed_at.shape)
    return len(closed_at)
