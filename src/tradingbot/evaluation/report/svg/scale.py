"""From figures to pixels: scales and the round numbers beside an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tradingbot.evaluation.report.numbers import money, percent, plain


@dataclass(frozen=True)
class AxisScale:
    """A linear (or logarithmic) map of [low, high] to [start, end] px."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, number: float) -> float:
        """Return the pixel of a number; beyond the ends it stays at the end."""
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, number = math.log(low), math.log(high), math.log(max(number, self.low))
        share = (number - low) / (high - low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)


@dataclass(frozen=True)
class Axis:
    """What one axis shows."""

    words: str = ""
    """Quantity and unit."""
    unit: str = "number"
    """`number`, `percent` (of fractions) or `money`."""
    holds: tuple[float, ...] = ()
    """Numbers that the axis must show, such as 0."""
    is_logarithmic: bool = False
    """Where all its numbers are above 0; of the x axis alone."""


def extent(numbers: Iterable[float], axis: Axis) -> tuple[float, float]:
    """Return the ends of an axis that holds all finite numbers, with room when they are equal."""
    shown = [number for number in (*numbers, *axis.holds) if math.isfinite(number)]
    low, high = (min(shown), max(shown)) if shown else (0.0, 1.0)
    if high - low < 1e-12 * max(abs(low), abs(high), 1e-9):
        room = abs(low) * 0.1 or 1.0
        return low - room, high + room
    return low, high


def round_ticks(low: float, high: float, count: int = 5) -> tuple[float, ...]:
    """Return round numbers that enclose [low, high], about `count` of them."""
    step = _round_step((high - low) / max(count - 1, 1))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return tuple(index * step for index in range(first, last + 1))


def tick_words(ticks: tuple[float, ...], unit: str) -> tuple[str, ...]:
    """Write the numbers of an axis with just enough digits."""
    if unit == "money":
        return tuple(money(tick) for tick in ticks)
    step = abs(ticks[1] - ticks[0]) if len(ticks) > 1 else abs(ticks[0]) or 1.0
    step *= 100 if unit == "percent" else 1
    digits = next((d for d in range(9) if _is_whole(step * 10**d)), 9)
    write = percent if unit == "percent" else plain
    return tuple(write(tick, digits) for tick in ticks)


def _is_whole(number: float) -> bool:
    return round(number) > 0 and abs(number - round(number)) < 1e-6 * number


def _round_step(step: float) -> float:
    size = 10.0 ** math.floor(math.log10(step))
    return next(factor * size for factor in (1, 2, 2.5, 5, 10) if factor * size >= step * 0.999)
