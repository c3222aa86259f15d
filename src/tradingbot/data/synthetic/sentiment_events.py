"""The `sentiment` covariate: now and then a score in [0, 1] that echoes a symbol's own past."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.synthetic.factors import Steps, normals, uniforms
from tradingbot.data.synthetic.market import FloatArray
from tradingbot.data.synthetic.regime_params import SymbolTraits
from tradingbot.data.synthetic.session_clock import SessionClock

_MEMORY_BARS = 14  # how far back the score looks
_ROUND_UP_SESSIONS = 3.0  # every so often all symbols are scored
_ECHO, _NOISE = 0.5, 0.9  # weights before squashing into [0, 1]


def sentiment_events(
    own: Steps, traits: SymbolTraits, clock: SessionClock, seed: int, per_session: float
) -> FloatArray:
    """Score the symbols at random bars, and all of them every third session.

    A score published at the close of bar t is drawn from the symbol's own moves over the last 14
    bars up to t and from noise; it knows nothing of what follows, and what follows does not
    depend on it.

    Args:
        own: Steps of the symbols' own moves, (T, n).
        traits: Of the n symbols.
        clock: Of the grid.
        seed: Root seed.
        per_session: Mean number of random scores in a full session, at most one a bar; 0: none.

    Returns:
        (T, n) in [0, 1], NaN where no score was published.
    """
    moved = np.cumsum(own.gap + own.bar, axis=0)
    moved[_MEMORY_BARS:] -= moved[:-_MEMORY_BARS].copy()
    usual = traits.own_volatility * np.sqrt(_MEMORY_BARS / clock.bars_per_year)
    echo = np.clip(moved / np.maximum(usual, 1e-12), -3, 3)
    bars = len(clock.elapsed)
    raw = _ECHO * echo + _NOISE * normals(seed, traits.names, "sentiment", bars)
    chance = 1 - np.exp(-per_session * clock.elapsed)
    if per_session > 0:
        chance[_round_ups(clock)] = 1
    published = uniforms(seed, traits.names, "published", bars) < chance[:, None]
    return np.where(published, 1 / (1 + np.exp(-raw)), np.nan)


def _round_ups(clock: SessionClock) -> NDArray[np.bool_]:
    """(T,) bars at which every symbol is scored, so that none is silent for a week."""
    count = np.floor(np.cumsum(clock.elapsed) / _ROUND_UP_SESSIONS)
    turns: NDArray[np.bool_] = np.diff(count, prepend=-1) > 0
    return turns
