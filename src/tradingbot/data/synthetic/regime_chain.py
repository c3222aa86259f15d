"""The hidden Markov chain of market regimes: its matrix, its path, its long-run shares."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from tradingbot.data.synthetic.market import FloatArray, IntArray


class Regime(IntEnum):
    """What kind of market it is; the value indexes every per-regime array."""

    BULL = 0
    BEAR = 1
    SIDEWAYS = 2
    TURBULENT = 3
    """High volatility, whatever the direction."""


# Where a regime goes when it ends (rows from, columns to). Chosen by us: calm markets mostly turn
# sideways first, turbulence follows or precedes a fall.
_NEXT = np.array(
    [
        [0.00, 0.10, 0.60, 0.30],
        [0.25, 0.00, 0.40, 0.35],
        [0.60, 0.20, 0.00, 0.20],
        [0.40, 0.25, 0.35, 0.00],
    ]
)


def transition_matrix(durations_bars: FloatArray) -> FloatArray:
    """Build the chain from how long each regime lasts on average.

    Args:
        durations_bars: (4,) mean length of a stay in bars, each at least 1.

    Returns:
        (4, 4), entry [i, j] the probability that the next bar's regime is j if this bar's is i.
    """
    leave = 1 / np.maximum(durations_bars, 1)[:, None]
    return np.asarray(leave * _NEXT + np.diag(1 - leave[:, 0]))


def stationary_shares(transition: FloatArray) -> FloatArray:
    """Long-run share of bars in each regime, (4,)."""
    count = len(transition)
    system = np.vstack([transition.T - np.eye(count), np.ones(count)])
    return np.asarray(np.linalg.lstsq(system, np.append(np.zeros(count), 1), rcond=None)[0])


def sample_path(transition: FloatArray, start: int, uniforms: FloatArray) -> IntArray:
    """Walk through the chain.

    Args:
        transition: (4, 4) matrix.
        start: Regime of the first bar.
        uniforms: (T,) numbers in [0, 1); number t decides the step from bar t-1 to bar t, the
            first is not used.

    Returns:
        (T,) regime that drives each bar's return.
    """
    # In each regime, the bars at which it would be left: the walk jumps from one to the next.
    leave = 1 - np.diag(transition)
    exits = [1 + np.flatnonzero(uniforms[1:] < chance) for chance in leave]
    path = np.empty(len(uniforms), dtype=np.int64)
    now, bar, turn = start, 0, 0
    while True:
        ahead = int(np.searchsorted(exits[now], turn, side="right"))
        if ahead == len(exits[now]):
            path[bar:] = now
            return path
        turn = int(exits[now][ahead])
        path[bar:turn] = now
        now, bar = _pick(transition, now, float(uniforms[turn] / leave[now])), turn


def _pick(transition: FloatArray, now: int, share: float) -> int:
    away = transition[now].copy()
    away[now] = 0
    edges = np.cumsum(away) / away.sum()
    return min(int(np.searchsorted(edges, share, side="right")), len(edges) - 1)
