"""Adaptive difficulty: a controller that moves both ways, and what its level does to a market.

The controller is a pure function of outcomes. The market is changed before features are computed
and causally: a bar depends on bars up to itself and on noise drawn by seed. Which episodes count as
a success is for the caller (`stages`) to say.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.checks import CheckedFields, bounded, require
from tradingbot.domain.seeding import stream
from tradingbot.envs.build_world import world_from_bars
from tradingbot.envs.curriculum.stored_state import StoredState
from tradingbot.envs.world import World
from tradingbot.features.covariates import WEEKDAY
from tradingbot.features.inputs import BAR_FIELDS
from tradingbot.features.registry import technical_features
from tradingbot.market.bars import VOLATILITY_BARS
from tradingbot.market.costs import CostRates

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_LARGEST_FALL = -0.9  # of one bar, so that a price stays above 0 whatever the multiplier


@dataclass(frozen=True)
class Knobs(CheckedFields):
    """What makes a market harder. The defaults change nothing."""

    spread_frac: float = bounded(0.0, "[0, 1)")
    """Added to the quoted spread; a fill pays half of it."""
    volatility_factor: float = bounded(1.0, "(0, 10]")
    """Multiplies every move, and the range of every bar."""
    trend_clarity: float = bounded(1.0, "[0, 1]")
    """c in [0, 1]: moves are mixed with noise of their own size, c · move + √(1 − c²) · noise. The
    variance stays, autocorrelations and the edge of any forecast fall (by c² and c)."""
    noise_frac: float = bounded(0.0, "[0, 10]")
    """Size of a passing error in each price, of the bar's volatility: gone at the next bar."""


@dataclass(frozen=True)
class DifficultyRules(CheckedFields):
    """Between which ends, and how fast, difficulty moves."""

    easiest: Knobs = field(default_factory=lambda: Knobs(0.0, 0.5, 1.0, 0.0))
    """Knobs at level 0."""
    hardest: Knobs = field(default_factory=lambda: Knobs(30e-4, 2.0, 0.3, 0.5))
    """Knobs at level 1; in between, each knob is interpolated linearly."""
    raise_at_frac: float = 0.7
    """Share of successes from which the level rises …"""
    lower_at_frac: float = 0.4
    """… and up to which it falls; between the two it rests, which keeps it from swinging."""
    episodes_per_decision: int = bounded(10, ">= 1")
    """Outcomes that one decision is made on; each is used once."""
    largest_step: float = 0.1
    smallest_step: float = 0.0125
    """A step is halved when the level turns round and doubled when it goes on."""

    def __post_init__(self) -> None:
        super().__post_init__()
        rule = "raise_at_frac must be above lower_at_frac, both in [0, 1]"
        require(0.0 <= self.lower_at_frac < self.raise_at_frac <= 1.0, rule, self)
        rule = "smallest_step must be above 0 and at most largest_step, which is at most 1"
        require(0.0 < self.smallest_step <= self.largest_step <= 1.0, rule, self)


@dataclass(frozen=True)
class DifficultyState(StoredState, CheckedFields):
    """Where the controller is."""

    level: float = bounded(0.0, "[0, 1]")
    """0 easiest, 1 hardest."""
    step: float = bounded(0.1, "(0, 1]")
    """Size of the next move if it goes the way of the last."""
    last_move: int = 0
    """1 the level rose last, −1 it fell, 0 it has not moved."""
    outcomes: tuple[bool, ...] = ()
    """Since the last decision."""
    title = "difficulty"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.last_move in (-1, 0, 1), "last_move must be -1, 0 or 1", self)


def adapt(
    state: DifficultyState, *, success: bool, rules: DifficultyRules | None = None
) -> DifficultyState:
    """Take one more outcome into account; every `episodes_per_decision` of them the level may move.

    The level stays in [0, 1] and one decision moves it by `largest_step` at most. A level that
    turns back and forth does so by ever smaller steps, down to `smallest_step`.
    """
    rules = rules or DifficultyRules()
    outcomes = (*state.outcomes, bool(success))
    if len(outcomes) < rules.episodes_per_decision:
        return replace(state, outcomes=outcomes)
    share = sum(outcomes) / len(outcomes)
    move = int(share >= rules.raise_at_frac) - int(share <= rules.lower_at_frac)
    if move == 0:
        return replace(state, outcomes=())
    step = state.step
    if state.last_move:
        step *= 2.0 if move == state.last_move else 0.5
    step = min(max(step, rules.smallest_step), rules.largest_step)
    level = min(max(state.level + move * step, 0.0), 1.0)
    return DifficultyState(level, step, move)


def knobs_at(level: float, rules: DifficultyRules | None = None) -> Knobs:
    """Return the knobs of a level in [0, 1]."""
    rules = rules or DifficultyRules()
    easy, hard = asdict(rules.easiest), asdict(rules.hardest)
    return Knobs(**{name: (1.0 - level) * easy[name] + level * hard[name] for name in easy})


def harder_rates(rates: CostRates, spread_frac: Tensor | float) -> CostRates:
    """Widen the spread, () or (B,): a tensor among the arguments, so nothing is compiled anew."""
    return rates._replace(spread_frac=rates.spread_frac + spread_frac)


def harder_bars(prices: FloatArray, present: BoolArray, knobs: Knobs, *, seed: int) -> FloatArray:
    """Change bars as the knobs say; expected simple returns are scaled, never shifted.

    Args:
        prices: (N, T, 5) open, high, low, close, volume; NaN where absent.
        present: (N, T) there is a bar.
        knobs: What to do; `spread_frac` is not for prices.
        seed: Of the noise. The same seed gives the same noise at every level.

    Returns:
        (N, T, 5); bar t depends on bars up to t. Volume is unchanged, absent bars stay NaN.
    """
    changed = prices.copy()
    for symbol in range(prices.shape[0]):
        rows = np.flatnonzero(present[symbol])
        if len(rows):
            rng = stream(seed, "difficulty", symbol)
            draws = rng.standard_normal((prices.shape[1], 2))[rows]
            changed[symbol, rows, :4] = _harder(prices[symbol, rows, :4], draws, knobs)
    return changed


def _harder(bars: FloatArray, draws: FloatArray, knobs: Knobs) -> FloatArray:
    """Change the bars (K, 4) of one symbol."""
    open_, high, low, close = bars.T
    before = np.concatenate([open_[:1], close[:-1]])
    gap, body = open_ / before - 1.0, close / open_ - 1.0
    volatility = _volatility_before(close)
    clarity, factor = knobs.trend_clarity, knobs.volatility_factor
    shock = np.sqrt(1.0 - clarity**2) * volatility * draws[:, 0]
    gap = np.maximum(factor * clarity * gap, _LARGEST_FALL)
    body = np.maximum(factor * (clarity * body + shock), _LARGEST_FALL)
    passing = np.exp(knobs.noise_frac * factor * volatility * draws[:, 1])
    lasting = open_[0] * np.cumprod((1.0 + gap) * (1.0 + body))
    new_close = lasting * passing
    new_open = np.concatenate([open_[:1], new_close[:-1]]) * (1.0 + gap)
    above = np.log(high / np.maximum(open_, close))
    below = np.log(np.minimum(open_, close) / low)
    new_high = np.maximum(new_open, new_close) * np.exp(factor * above)
    new_low = np.minimum(new_open, new_close) * np.exp(-factor * below)
    return np.stack((new_open, new_high, new_low, new_close), axis=-1)


def _volatility_before(close: FloatArray) -> FloatArray:
    """Root mean square (K,) of the last simple returns before each bar; 0 until there is one."""
    squares = np.concatenate([[0.0], np.diff(close) / close[:-1]]) ** 2
    total = np.concatenate([[0.0], np.cumsum(squares)])  # of bars before each
    bar = np.arange(len(close))
    first = np.maximum(bar - VOLATILITY_BARS, 1)
    count = np.maximum(bar - first, 1)
    spread = np.maximum(total[bar] - total[np.minimum(first, bar)], 0.0)
    return np.asarray(np.sqrt(spread / count))


def harder_world(world: World, knobs: Knobs, *, seed: int) -> World:
    """Change a world's bars and compute its features anew.

    Covariates and supervised probabilities stay as they were: with `trend_clarity` below 1 they
    say less about what comes. Features are scaled by the changed world's own training bars.
    """
    if replace(knobs, spread_frac=0.0) == Knobs():
        return world
    changed = world_from_bars(
        harder_bars(world.prices, world.present, knobs, seed=seed),
        world.present,
        world.closed_at,
        world.symbols,
        label=f"{world.label}, made harder: volatility × {knobs.volatility_factor:g}, "
        f"trend clarity {knobs.trend_clarity:g}, noise {knobs.noise_frac:g}",
        synthetic=True,  # whatever it was before, these bars were not observed
    )
    known = {*BAR_FIELDS, WEEKDAY.name}
    of_bars = {spec.name for spec in technical_features() if known.issuperset(spec.inputs)}
    columns = [
        changed.features[..., changed.feature_names.index(name)]
        if name in of_bars
        else world.features[..., position]
        for position, name in enumerate(world.feature_names)
    ]
    return replace(
        changed,
        features=np.stack(columns, axis=-1),
        feature_names=world.feature_names,
        probabilities=world.probabilities,
        usable=changed.usable & world.usable,
    )
