"""Steps of one return component: fat-tailed, clustered shocks for gaps and bars, and jumps.

A component is the market, a sector, or a symbol's own part; each draws from streams of its own:
a column depends on the seed and its own name only, and its first rows do not depend on how many
are asked for, so that more symbols or a longer market leave what was there unchanged. Volatility
clusters: a slow and a fast autoregression of log volatility, with leverage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tradingbot.data.synthetic.bar_shape import SessionClock
from tradingbot.data.synthetic.market import FloatArray
from tradingbot.domain.seeding import stream

StreamName = tuple[str, ...]
Draw = Callable[[np.random.Generator], FloatArray]


def normals(seed: int, names: Sequence[StreamName], part: str, count: int) -> FloatArray:
    """(count, n) standard normal numbers."""
    return _columns(seed, names, part, lambda rng: rng.standard_normal(count))


def uniforms(seed: int, names: Sequence[StreamName], part: str, count: int) -> FloatArray:
    """(count, n) uniform numbers in [0, 1)."""
    return _columns(seed, names, part, lambda rng: rng.random(count))


def _columns(seed: int, names: Sequence[StreamName], part: str, draw: Draw) -> FloatArray:
    rows = np.stack([draw(stream(seed, *name, part)) for name in names])
    return np.ascontiguousarray(rows.T)


@dataclass(frozen=True)
class VolatilityModel:
    """Log volatility = slow + fast part, each mean-reverting in trading time."""

    slow_std: float  # long-run standard deviation of the slow part
    fast_std: float  # of the fast part
    slow_sessions: float  # sessions after which a deviation has shrunk to 1/e
    fast_sessions: float
    leverage: float  # correlation of the innovation with the return's shock, in [-1, 1]

    @property
    def log_variance(self) -> float:
        """Long-run variance of log volatility; leverage ties the two parts together."""
        rates = 1 / self.slow_sessions, 1 / self.fast_sessions
        tie = self.leverage**2 * 2 * np.sqrt(rates[0] * rates[1]) / (rates[0] + rates[1])
        variance = self.slow_std**2 + self.fast_std**2 + 2 * tie * self.slow_std * self.fast_std
        return float(variance)


def volatility_paths(
    model: VolatilityModel,
    *,
    shocks: FloatArray,
    slow_noise: FloatArray,
    fast_noise: FloatArray,
    elapsed: FloatArray,
) -> FloatArray:
    """Volatility of each column relative to its long-run root mean square.

    The value at row t depends on rows before t only: it is known when bar t begins.

    Args:
        model: Strengths and time scales.
        shocks: (T, n) standard normal shocks of the returns.
        slow_noise: (T + 1, n) standard normal; the first row sets where the slow part starts.
        fast_noise: (T + 1, n) the same for the fast part.
        elapsed: (T,) sessions that pass with each bar.

    Returns:
        (T, n) positive multipliers whose long-run mean square is 1.
    """
    free = np.sqrt(1 - model.leverage**2)
    log_level = np.full(shocks.shape, -model.log_variance)
    for std, sessions, noise in (
        (model.slow_std, model.slow_sessions, slow_noise),
        (model.fast_std, model.fast_sessions, fast_noise),
    ):
        keep = np.exp(-elapsed / sessions)
        innovations = free * noise[1:] + model.leverage * shocks
        innovations *= (std * np.sqrt(1 - keep**2))[:, None]
        log_level += autoregression(std * noise[0], keep, innovations)
    return np.asarray(np.exp(log_level))


def autoregression(start: FloatArray, keep: FloatArray, innovations: FloatArray) -> FloatArray:
    """Run x[t+1] = keep[t] · x[t] + innovations[t] from x[0] = start.

    Args:
        start: (n,) first row.
        keep: (T,) factor for the step out of each row.
        innovations: (T, n).

    Returns:
        (T, n); the last innovation has no effect.
    """
    path = np.empty_like(innovations)
    if len(start) < _FEW_COLUMNS:
        factors = keep.tolist()
        for column, x in enumerate(start.tolist()):
            path[:, column] = _run_column(x, factors, innovations[:, column].tolist())
        return path
    now = np.array(start)
    for t, factor in enumerate(keep.tolist()):
        path[t] = now
        now *= factor
        now += innovations[t]
    return path


def _run_column(x: float, keep: list[float], innovations: list[float]) -> list[float]:
    """Run one column; an operation on plain numbers costs a tenth of one on a short array."""
    path = []
    for factor, innovation in zip(keep, innovations, strict=True):
        path.append(x)
        x = x * factor + innovation
    return path


_FEW_COLUMNS = 16  # below it, columns one by one are faster than rows of all columns
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
    draws = _columns(seed, names, part, lambda rng: rng.chisquare(freedom, count))
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
