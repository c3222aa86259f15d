"""Disasters made of calm bars: a crash, a gap, volume that is gone, and a market that shakes.

Each takes bars apart into moves overnight and within a bar, changes them, and puts them together
again; a bar stays a bar whatever its moves are: the high is not below open and close, the low not
above. Bars before the one it begins at are kept to the bit, so what was learned from them, and the
scale of features, stay as they are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tradingbot.agents.baselines.price_rules import FloatArray, carry_forward
from tradingbot.domain.errors import ConfigError, DataError


class BarArrays(NamedTuple):
    """Bars of N symbols on a grid of T closes; (T, N) each, NaN where there is no bar."""

    open: FloatArray
    high: FloatArray
    low: FloatArray
    close: FloatArray
    volume: FloatArray
    vwap: FloatArray


class Moves(NamedTuple):
    """Logarithms of price ratios of the bars from one on, (S, N) each; 0 where there is no bar."""

    gap: FloatArray
    """Open ÷ last close before; 0 at a symbol's first bar."""
    high: FloatArray
    """High ÷ open, at least 0 and at least `close`; the others are ÷ open too."""
    low: FloatArray
    close: FloatArray
    vwap: FloatArray

    def total(self) -> FloatArray:
        """Return close ÷ last close before, (S, N)."""
        return self.gap + self.close


def moves_from(bars: BarArrays, first_bar: int) -> Moves:
    """Take the bars from `first_bar` on apart.

    Raises:
        DataError: If it is no bar of the grid.
    """
    before = _closes_before(bars, first_bar)
    opens = bars.open[first_bar:]

    def log_ratio(values: FloatArray, base: FloatArray) -> FloatArray:
        known = np.isfinite(values) & np.isfinite(base)
        ratio = np.divide(values, base, out=np.ones_like(values), where=known)
        logs: FloatArray = np.log(ratio)
        return logs

    within = (log_ratio(getattr(bars, name)[first_bar:], opens) for name in Moves._fields[1:])
    return Moves(log_ratio(opens, before), *within)


def rebuilt(bars: BarArrays, first_bar: int, moves: Moves) -> BarArrays:
    """Put bars together again from their moves; those before `first_bar` are kept to the bit."""
    present = np.isfinite(bars.close[first_bar:])
    path = np.exp(np.cumsum(np.where(present, moves.total(), 0.0), axis=0))
    start = _anchor(bars, first_bar)
    closes = start * path
    opens = closes / np.exp(moves.close)
    made = {"open": opens, "close": closes}
    for name in ("high", "low", "vwap"):
        made[name] = opens * np.exp(getattr(moves, name))
    made["high"] = np.maximum.reduce([made["high"], opens, closes])  # the last bit of a rounding
    made["low"] = np.minimum.reduce([made["low"], opens, closes])
    joined = {
        name: np.concatenate(
            [getattr(bars, name)[:first_bar], np.where(present, values, np.nan)], axis=0
        )
        for name, values in made.items()
    }
    return bars._replace(**joined)


def _closes_before(bars: BarArrays, first_bar: int) -> FloatArray:
    """Return the last close before each bar from `first_bar` on; NaN where there was none."""
    if not 0 <= first_bar < len(bars.close):
        raise DataError(
            "a bar to begin at must be on the grid", was=first_bar, where=f"{len(bars.close)} bars"
        )
    last = carry_forward(bars.close.T).T
    shifted: FloatArray = np.concatenate([np.full_like(last[:1], np.nan), last[:-1]])
    return shifted[first_bar:]


def _anchor(bars: BarArrays, first_bar: int) -> FloatArray:
    """Return what the path of each symbol (N,) begins at: its last close, or its first open."""
    before = _closes_before(bars, first_bar)[0]
    opens = bars.open[first_bar:]
    first = np.isfinite(opens).argmax(axis=0)
    begun = opens[first, np.arange(opens.shape[1])]
    return np.asarray(np.where(np.isfinite(before), before, begun))


def crash(bars: BarArrays, first_bar: int, *, drop_frac: float, over_bars: int) -> BarArrays:
    """Let every symbol fall by `drop_frac`, evenly within `over_bars` of its bars.

    It falls on top of its own moves. Prices do not come back by themselves: what follows
    are the moves that were there before.

    Raises:
        ConfigError: If it is no fall, or over no bar.
    """
    if not 0.0 < drop_frac < 1.0 or over_bars < 1:
        raise ConfigError(
            "a crash must lose a part of the price within a bar or more",
            was=f"{drop_frac} in {over_bars} bars",
        )
    moves = moves_from(bars, first_bar)
    present = np.isfinite(bars.close[first_bar:])
    in_crash = present & (np.cumsum(present, axis=0) <= over_bars)
    fall = np.where(in_crash, math.log1p(-drop_frac) / over_bars, 0.0)
    fallen = moves._replace(
        close=moves.close + fall, low=moves.low + fall, vwap=moves.vwap + 0.5 * fall
    )
    return rebuilt(bars, first_bar, fallen)


def gap(bars: BarArrays, bar: int, *, move_frac: float) -> BarArrays:
    """Let every symbol open a bar `move_frac` away from where it would have.

    Raises:
        ConfigError: If nothing would be left.
    """
    if not -1.0 < move_frac < math.inf:
        raise ConfigError("a gap must leave something of the price", was=move_frac)
    moves = moves_from(bars, bar)
    gaps = moves.gap.copy()
    # A symbol without a bar then opens away at its next one.
    present = np.isfinite(bars.close[bar:])
    first = present.argmax(axis=0)
    gaps[first, np.arange(gaps.shape[1])] += math.log1p(move_frac)
    return rebuilt(bars, bar, moves._replace(gap=gaps))


def thin_volume(bars: BarArrays, first_bar: int, *, divisor: float) -> BarArrays:
    """Let only a part of the volume trade from a bar on.

    Raises:
        ConfigError: If volume would not fall.
    """
    if not divisor >= 1.0:
        raise ConfigError("volume must be divided by 1 or more", was=divisor)
    volume = bars.volume.copy()
    volume[first_bar:] /= divisor
    return bars._replace(volume=volume)


def shake(bars: BarArrays, first_bar: int, *, factor: float) -> BarArrays:
    """Multiply all moves from a bar on; each symbol's mean log return per bar stays as it was.

    Raises:
        ConfigError: If the market would not move.
    """
    if not 0.0 < factor < math.inf:
        raise ConfigError("moves must be multiplied by more than 0", was=factor)
    moves = moves_from(bars, first_bar)
    present = np.isfinite(bars.close[first_bar:])
    drift = moves.total().sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    scaled = type(moves)(*(factor * values for values in moves))
    back = np.where(present, (factor - 1.0) * drift, 0.0)
    return rebuilt(bars, first_bar, scaled._replace(gap=scaled.gap - back))
