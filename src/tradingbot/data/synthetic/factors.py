"""Steps of one return component: fat-tailed, clustered shocks for gaps and bars, and jumps.

A component is the market, a sector, or a symbol's own part; each draws from streams of its own,
so that no component's path depends on which others exist or on how long the market runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tradingbot.data.synthetic.market import FloatArray
from tradingbot.data.synthetic.named_draws import StreamName, chi_squares, normals, uniforms
from tradingbot.data.synthetic.session_clock import SessionClock
from tradingbot.data.synthetic.volatility import VolatilityModel, volatility_paths

_MAX_HEAT = 30.0  # bound of the tail: a bar's variance never exceeds this multiple of its mean


@dataclass(frozen=True)
class JumpModel:
    """Rare moves on top of the diffusion; signs are symmetric, so the mean is unchanged."""

    per_year: float
    size: float  # standard deviation of a jump ÷ the component's σ over a full session
    overnight: bool  # in the gap before a session where there is one; False: inside bars


@dataclass(frozen=True)
class ComponentModel:
    """How the shocks of a component behave."""

    volatility: VolatilityModel
    freedom: float  # degrees of freedom of Student's t; smaller is fatter
    jumps: JumpModel


@dataclass(frozen=True)
class Steps:
    """Mean-zero simple-return steps of n columns, (T, n) each."""

    gap: FloatArray  # from the close before to the open
    bar: FloatArray  # from the open to the close
    bar_variance: FloatArray  # of `bar` once the bar's heat is known; scales its high-low range


def component_steps(
    model: ComponentModel,
    clock: SessionClock,
    *,
    scales: FloatArray,
    seed: int,
    names: Sequence[StreamName],
) -> Steps:
    """Sample the steps of n components.

    Args:
        model: Behaviour, common to all n.
        clock: Shares of variance and time of each bar.
        scales: (T, n) or (T, 1) volatility of a full session before clustering.
        seed: Root seed.
        names: n stream names, one for each column.
    """
    bars = len(clock.elapsed)
    gap, bar = normals(seed, names, "gap", bars), normals(seed, names, "bar", bars)
    gap_share, bar_share = clock.gap_variance[:, None], clock.bar_variance[:, None]
    shocks = (gap * np.sqrt(gap_share) + bar * np.sqrt(bar_share)) / np.sqrt(gap_share + bar_share)
    variance = volatility_paths(
        model.volatility,
        shocks=shocks,
        slow_noise=normals(seed, names, "slow", bars + 1),
        fast_noise=normals(seed, names, "fast", bars + 1),
        elapsed=clock.elapsed,
    )
    variance *= scales
    variance *= variance
    gap *= np.sqrt(variance * gap_share * _heat(model.freedom, seed, names, "gap_heat", bars))
    variance *= bar_share
    variance *= _heat(model.freedom, seed, names, "bar_heat", bars)
    bar *= np.sqrt(variance)
    jumps = _jumps(model.jumps, clock, seed, names) * scales
    if model.jumps.overnight and not clock.never_closes:
        gap += jumps
    else:
        bar += jumps
    return Steps(gap, bar, variance)


def _heat(
    freedom: float, seed: int, names: Sequence[StreamName], part: str, count: int
) -> FloatArray:
    """Random variance of mean about 1 that turns normal shocks into Student's t."""
    draws = chi_squares(freedom, seed, names, part, count)
    np.divide(freedom - 2, draws, out=draws)
    return np.minimum(draws, _MAX_HEAT, out=draws)


def _jumps(
    model: JumpModel, clock: SessionClock, seed: int, names: Sequence[StreamName]
) -> FloatArray:
    """(T, n) jumps in units of the component's σ over a full session; 0 where none happens."""
    bars = len(clock.elapsed)
    if model.overnight and not clock.never_closes:
        chance = clock.opens * (model.per_year / clock.sessions_per_year)
    else:
        chance = np.full(bars, model.per_year / clock.bars_per_year)
    happens = uniforms(seed, names, "jump_time", bars) < chance[:, None]
    # A size for every bar, used or not, keeps the past unchanged when the market runs longer.
    return normals(seed, names, "jump_size", bars) * (happens * model.size)
