"""Hard times made of calm bars: a slide, a gap, volume that is gone, and a market that shakes.

Each changes the moves of bars (`data.bar_moves`) from one bar on; those before are kept to the bit,
so what was learned from them, and the scale of features, stay as they are.
"""

from __future__ import annotations

import math

import numpy as np

from tradingbot.data.bar_moves import BarArrays, moves_from, rebuilt
from tradingbot.domain.errors import ConfigError


def slide(bars: BarArrays, first_bar: int, *, move_frac: float, over_bars: int) -> BarArrays:
    """Let every symbol move by `move_frac`, evenly within `over_bars` of its bars.

    It moves on top of its own moves: a crash or a correction down, a rally up. Prices do not come
    back by themselves: what follows are the moves that were there before.

    Raises:
        ConfigError: If nothing moves or nothing would be left, or over no bar.
    """
    if not -1.0 < move_frac < math.inf or move_frac == 0.0 or over_bars < 1:
        raise ConfigError(
            "a slide must change the price and leave a part of it, within a bar or more",
            was=f"{move_frac} in {over_bars} bars",
        )
    moves = moves_from(bars, first_bar)
    present = np.isfinite(bars.close[first_bar:])
    within = present & (np.cumsum(present, axis=0) <= over_bars)
    step = np.where(within, math.log1p(move_frac) / over_bars, 0.0)
    moved = moves._replace(
        close=moves.close + step,
        low=moves.low + np.minimum(step, 0.0),
        high=moves.high + np.maximum(step, 0.0),
        vwap=moves.vwap + 0.5 * step,
    )
    return rebuilt(bars, first_bar, moved)


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
