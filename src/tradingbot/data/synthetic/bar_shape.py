"""How a session is shared out among its bars and the night before, and the inside of a bar.

A session has variance 1: a share falls into the gap before it, the rest is spread over the day
with more at the open and at the close (the U-shape). Markets that never close have no gap and no U.
Inside a bar: high, low, volume-weighted price and volume for a given open and close.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.synthetic.market import FloatArray, GridSpec

_FULL_SESSION_HOURS = 6.5
_ROUND_THE_CLOCK_HOURS = 23.5
_MICRO_GAP = 0.02  # gap between two bars of one session ÷ σ of the bar, as in real hourly bars


@dataclass(frozen=True)
class DayShape:
    """Intensity over the session at x in [0, 1]: 1 + open · e^(-x/s) + close · e^(-(1-x)/s)."""

    at_open: float
    at_close: float
    scale: float = 0.08  # how far the two peaks reach, as a fraction of the session

    def between(self, start: FloatArray, end: FloatArray) -> FloatArray:
        """Share of the session's total between two positions."""
        return np.asarray((self._until(end) - self._until(start)) / self._until(np.ones(1)))

    def _until(self, x: FloatArray) -> FloatArray:
        rise = 1 - np.exp(-x / self.scale)
        fall = np.exp(-(1 - x) / self.scale) - np.exp(-1 / self.scale)
        return np.asarray(x + self.scale * (self.at_open * rise + self.at_close * fall))


@dataclass(frozen=True)
class SessionClock:
    """Shares of each bar, all (T,); the variance of a full session is 1."""

    opens: NDArray[np.bool_]  # a night (or weekend) lies between the bar before and this one
    gap_variance: FloatArray  # of the step from the close before to this bar's open
    bar_variance: FloatArray  # of the step from this bar's open to its close
    volume: FloatArray  # share of the session's volume
    elapsed: FloatArray  # sessions that pass with this bar, by hours; a full session sums to 1
    bars_per_session: int  # of a full session
    sessions_per_year: float
    never_closes: bool  # sessions follow each other without a night

    @property
    def bars_per_year(self) -> float:
        """Bars of a year of full sessions."""
        return self.bars_per_session * self.sessions_per_year


def session_clock(
    grid: GridSpec, *, overnight_share: float, variance: DayShape, volume: DayShape
) -> SessionClock:
    """Share a session out over the bars of a grid.

    Half days get variance and volume in proportion to their hours.
    """
    first = np.searchsorted(grid.session, grid.session, side="left")
    last = np.searchsorted(grid.session, grid.session, side="right") - 1
    begin, end = grid.opened_at[first], grid.closed_at[last]
    length = (end - begin) / np.timedelta64(1, "h")
    never_closes = bool(length.min() > _ROUND_THE_CLOCK_HOURS)
    opens = grid.opens_session & _after_a_night(grid)
    full = np.minimum(1, length / _FULL_SESSION_HOURS)
    start_x = (grid.opened_at - begin) / (end - begin)
    end_x = (grid.closed_at - begin) / (end - begin)
    flat = DayShape(0, 0)
    day = 0.0 if never_closes else overnight_share
    bar_variance = (1 - day) * full * (flat if never_closes else variance).between(start_x, end_x)
    return SessionClock(
        opens=opens,
        gap_variance=np.where(opens, day, _MICRO_GAP**2 * bar_variance),
        bar_variance=bar_variance,
        volume=full * (flat if never_closes else volume).between(start_x, end_x),
        elapsed=full * grid.hours / length,
        bars_per_session=int(np.bincount(grid.session).max()),
        sessions_per_year=365.0 if never_closes else 252.0,
        never_closes=never_closes,
    )


def _after_a_night(grid: GridSpec) -> NDArray[np.bool_]:
    apart = np.empty(len(grid.closed_at), dtype=bool)
    apart[0] = False  # nothing is known of the night before the first bar
    apart[1:] = grid.opened_at[1:] > grid.closed_at[:-1]
    return apart


_VWAP_NOISE = 0.08  # standard deviation of the VWAP's place in the bar's range
_TINY = 1e-300  # keeps log(0) out when a uniform number is exactly 0


def extremes(
    opens: FloatArray, closes: FloatArray, variance: FloatArray, uniforms: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Sample highs and lows of a Brownian bridge from open to close.

    High and low are drawn independently, each from its exact distribution given the two ends.

    Args:
        opens: (T, n) prices.
        closes: (T, n) prices.
        variance: (T, n) of the log price over the bar.
        uniforms: (2, T, n) in [0, 1).

    Returns:
        highs and lows, (T, n), with low ≤ open, close ≤ high in every cell.

    Source: first-passage law of the Brownian bridge, e.g. Karatzas and Shreve, "Brownian Motion
    and Stochastic Calculus", §4.3.
    """
    step = np.log(closes / opens)
    squared = step * step
    up = np.sqrt(squared - 2 * variance * np.log(np.maximum(uniforms[0], _TINY)))
    down = np.sqrt(squared - 2 * variance * np.log(np.maximum(uniforms[1], _TINY)))
    highs = opens * np.exp((step + up) / 2)
    lows = opens * np.exp((step - down) / 2)
    # Rounding may leave an extreme one unit in the last place inside the body.
    top, bottom = np.maximum(opens, closes), np.minimum(opens, closes)
    return np.maximum(highs, top), np.minimum(lows, bottom)


def mean_price(
    opens: FloatArray, highs: FloatArray, lows: FloatArray, closes: FloatArray, noise: FloatArray
) -> FloatArray:
    """Volume-weighted price: the middle of the four prices plus noise, inside [low, high]."""
    middle = (opens + highs + lows + closes) / 4
    return np.clip(middle + _VWAP_NOISE * noise * (highs - lows), lows, highs)


def traded_units(usual: FloatArray, heat: FloatArray, noise: FloatArray, link: float) -> FloatArray:
    """Volume that rises with the variance of the bar.

    Args:
        usual: (T, n) typical units for that time of day.
        heat: (T, n) variance of the bar ÷ its long-run mean.
        noise: (T, n) log deviation that has nothing to do with the price.
        link: Elasticity of volume to the bar's volatility.

    Returns:
        (T, n) whole units, at least 1.
    """
    volumes = usual * np.exp(noise)
    volumes *= np.power(np.maximum(heat, 1e-6), link / 2)
    return np.maximum(np.rint(volumes), 1.0)
