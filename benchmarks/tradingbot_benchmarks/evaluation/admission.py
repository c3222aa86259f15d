"""How often validation lets luck in, and how often it finds what is there: size and power.

Nulls are policies without knowledge on bars that are given (real ones, or generated): what they
hold is drawn from a random stream, or from the features of *other* bars, so that it has the
persistence and the agreement between agents of a trained policy and no information. They are laid
on windows in which the market rose or fell most, with and without costs. What they earn is taken
apart by `attribute` and judged by `shrink`: the very functions that a training uses. Power is that
of the oracle of `planted` markets with correlated noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.data.factor import BarReturns, MarketFactor, bar_returns, fit_factor
from tradingbot.data.splits import IndexRange
from tradingbot.domain.seeding import stream
from tradingbot.envs.synthetic_market import synthetic_market
from tradingbot.evaluation.metrics.attribution import Exposure, attribute
from tradingbot.evaluation.oracle.action_rule import DEFAULT_COST_FRAC
from tradingbot.evaluation.oracle.market_oracle import oracle_targets
from tradingbot.learning.shrinkage import ShrinkageConfig, shrink

FloatArray = NDArray[np.float64]
WINDOW_BARS, BETA_BARS = 494, 1_500
"""Bars that decide, as many as a training's; bars before them that betas are of."""
LARGEST_SIZE = 0.03
_LONGEST_LAG = 140
"""Bars of the slowest feature that policies trained on noise look at."""


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars that nulls are laid on."""

    returns: BarReturns
    """(N, T)"""
    symbols: tuple[str, ...]
    closed_at: NDArray[np.int64]


class Admitted(NamedTuple):
    """Whether agents were let in, by alpha and, for comparison, by net return."""

    alpha: bool
    net: bool


def bars_of(prices: FloatArray, present: NDArray[np.bool_], closed_at: NDArray[np.int64]) -> Bars:
    """Prepare bars: prices (N, T, 4 or more), whether there is one (N, T), closes (T,) in µs."""
    names = tuple(f"S{number:03d}" for number in range(len(prices)))
    return Bars(bar_returns(prices, present), names, closed_at)


def beside(bars: Bars, first: int, length: int) -> MarketFactor:
    """Return the market of a window, with betas of the bars before it."""
    cut = slice(max(0, first - BETA_BARS), first + length)
    seen = BarReturns(*(part[:, cut] for part in bars.returns))
    before = IndexRange(0, first - cut.start)
    factor = fit_factor(seen, bars.symbols, before, bars.closed_at[cut])
    return factor.during(IndexRange(before.stop, before.stop + length))


def admit(
    bars: Bars, wants: FloatArray, first: int, *, cost_frac: float, factor: MarketFactor
) -> Admitted:
    """Ask validation about positions over one window.

    Args:
        bars: With what happened there.
        wants: (S, N) position wanted at the close before each bar of the window, share of equity.
        first: First bar of the window.
        cost_frac: Cost per unit of turnover.
        factor: `beside` the window.
    """
    gap, whole = (np.nan_to_num(part[:, first : first + len(wants)]).T for part in bars.returns)
    held = Exposure(gap=np.concatenate([np.zeros_like(wants[:1]), wants[:-1]]), day=wants)
    traded = np.abs(np.diff(wants, axis=0, prepend=0.0))
    net = held.gap * gap + held.day * (whole - gap) - cost_frac * traded
    alpha = attribute(net, held, factor).alpha
    config = ShrinkageConfig(block_bars=min(24, max(1, len(wants) // 8)))
    found = (shrink({"full": torch.from_numpy(each)}, config) for each in (alpha, net))
    return Admitted(*(bool(each.trades.any()) for each in found))


def independent(rng: np.random.Generator, bars: Bars, judged: IndexRange) -> FloatArray:
    """Draw one of four positions per agent, kept for a random while, 1 to 200 bars on average."""
    shape = n_bars, _ = len(judged), len(bars.symbols)
    redrawn = rng.random(shape) < 1.0 / rng.integers(1, 200)
    redrawn[0] = True
    drawn = rng.integers(0, 4, shape) / 3.0
    place = np.maximum.accumulate(np.where(redrawn, np.arange(n_bars)[:, None], 0), axis=0)
    return np.asarray(np.take_along_axis(drawn, place, axis=0))


def agreeing(rng: np.random.Generator, bars: Bars, judged: IndexRange) -> FloatArray:
    """Draw agents that are mostly long and change their minds together: 0 to 90 % in common."""
    shape = n_bars, n_agents = len(judged), len(bars.symbols)
    keep, share, level = 1.0 - 1.0 / rng.integers(2, 200), rng.uniform(0.0, 0.9), rng.normal(1, 1)
    shocks = np.sqrt(share) * rng.standard_normal((n_bars, 1))
    shocks = shocks + np.sqrt(1.0 - share) * rng.standard_normal(shape)
    state = np.empty(shape)
    state[0] = shocks[0]
    for bar in range(1, n_bars):
        state[bar] = keep * state[bar - 1] + np.sqrt(1.0 - keep**2) * shocks[bar]
    own = rng.uniform(0.0, 1.0) * rng.standard_normal(n_agents)
    return 1.0 / (1.0 + np.exp(-3.0 * (state + level + own)))


def trained_on_noise(rng: np.random.Generator, bars: Bars, judged: IndexRange) -> FloatArray:
    """Draw one policy for all agents: random weights of features, seen at quite other bars.

    Of those none is judged: features of a few bars later would know what is to come.
    """
    n_bars, n_agents = len(judged), len(bars.symbols)
    starts = np.arange(bars.returns.whole.shape[1] - n_bars - _LONGEST_LAG)
    apart = (starts + _LONGEST_LAG + n_bars <= judged.start) | (starts >= judged.stop)
    first = int(rng.choice(starts[apart]))
    seen = np.nan_to_num(bars.returns.whole[:, first : first + n_bars + _LONGEST_LAG])
    sums, scale = np.cumsum(seen, axis=1), seen.std(axis=1)[:, None] + 1e-9
    columns = [
        (sums[:, _LONGEST_LAG:] - sums[:, _LONGEST_LAG - lag : -lag]) / (scale * np.sqrt(lag))
        for lag in (1, 7, 35, _LONGEST_LAG)
    ]
    weights = rng.standard_normal(4) * rng.uniform(0.2, 3.0)
    own = 0.3 * rng.standard_normal((4, n_agents, 1))
    score = sum((w + o) * c for w, o, c in zip(weights, own, columns, strict=True))
    return 1.0 / (1.0 + np.exp(-(np.asarray(score).T + rng.normal(0.5, 1.0))))


NULLS: dict[str, Callable[[np.random.Generator, Bars, IndexRange], FloatArray]] = {
    "independent": independent,
    "agreeing": agreeing,
    "trained on noise": trained_on_noise,
}


def windows(bars: Bars, trend: str, *, length: int = WINDOW_BARS) -> NDArray[np.int64]:
    """Return first bars of windows: the third in which equal weight rose most, fell most, or all.

    Args:
        bars: Bars; the first `BETA_BARS` belong to betas alone.
        trend: `rising`, `falling` or `any`.
        length: Bars of a window.
    """
    mean = np.nan_to_num(np.nan_to_num(bars.returns.whole).mean(axis=0))
    starts = np.arange(min(BETA_BARS, len(mean) // 2), len(mean) - length, 7)
    total = np.concatenate([[0.0], np.cumsum(mean)])
    order = starts[np.argsort(total[starts + length] - total[starts])]
    third = max(1, len(order) // 3)
    return {"falling": order[:third], "rising": order[-third:], "any": order}[trend]


def size(
    bars: Bars, null: str, trend: str, *, cost_frac: float, n_draws: int, seed: int = 0
) -> Admitted:
    """Return the share of nulls that are let in, by alpha and by net return.

    Betas of a start are fitted on the bars before it, once.
    """
    length = min(WINDOW_BARS, bars.returns.whole.shape[1] // 3)
    starts, known = windows(bars, trend, length=length), dict[int, MarketFactor]()
    found = np.zeros((n_draws, 2))
    for draw in range(n_draws):
        rng = stream(seed, "admission", null, trend, f"{cost_frac:g}", str(draw))
        first = int(rng.choice(starts))
        if first not in known:
            known[first] = beside(bars, first, length)
        wants = NULLS[null](rng, bars, IndexRange(first, first + length))
        found[draw] = admit(bars, wants, first, cost_frac=cost_frac, factor=known[first])
    return Admitted._make(found.mean(axis=0).tolist())


def power(
    kappa: float, correlation: float, *, n_symbols: int, n_draws: int, seed: int = 0
) -> Admitted:
    """Return the share of oracles of `planted` markets that are let in, at default costs."""
    found = []
    for draw in range(n_draws):
        market = synthetic_market(
            "planted",
            n_symbols=n_symbols,
            n_bars=BETA_BARS + WINDOW_BARS + 1,
            seed=seed + draw,
            params={"kappa": kappa, "correlation": correlation},
        )
        columns = (market.opens, market.highs, market.lows, market.closes)
        prices = np.stack(columns, axis=-1).transpose(1, 0, 2)
        closed_at = market.closed_at.astype("datetime64[us]").astype(np.int64)
        bars = bars_of(prices, np.ones(prices.shape[:2], dtype=bool), closed_at)
        first = BETA_BARS + 1
        wants = oracle_targets(market, cost_frac=DEFAULT_COST_FRAC)[BETA_BARS:-1]
        factor = beside(bars, first, len(wants))
        found.append(admit(bars, wants, first, cost_frac=DEFAULT_COST_FRAC, factor=factor))
    return Admitted._make(np.mean(found, axis=0).tolist())


def table(rows: Sequence[tuple[str, Admitted, int]]) -> str:
    """Write shares of draws that were let in as a Markdown table."""
    lines = ["| what | let in by alpha | by net return | draws |", "|---|---|---|---|"]
    lines += [f"| {what} | {a.alpha:.1%} | {a.net:.1%} | {n:,} |" for what, a, n in rows]
    return "\n".join(lines)
