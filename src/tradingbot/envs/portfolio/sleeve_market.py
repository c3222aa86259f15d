"""Synthetic sleeves whose best allocation is known: drifts, risks and correlations are planted.

A sleeve's agent is always fully invested in its symbol; how much that earns changes by regime, by
sleeve, and with its death. What the master sees is what it would see of real agents: confidence,
recent record, and the regime. Everything is labelled synthetic.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.domain.checks import CheckedFields, bounded, require
from tradingbot.domain.seeding import stream
from tradingbot.envs.portfolio.book import SleeveBook
from tradingbot.market.portfolio.inputs import member_names, see_sleeves

FloatArray = NDArray[np.float64]
SleeveMarketKind = Literal["steady", "changing", "dying", "worthless"]

MEMBER_NAMES = member_names(0)
"""What is seen of a synthetic sleeve."""
_HOUR_US = 3_600_000_000
_FIRST_CLOSE_US = 1_640_995_200_000_000  # 2022-01-01 00:00 UTC
_DEEP_CCY = 1e15
_FIRST_PRICE = 100.0


@dataclass(frozen=True)
class SleeveMarket(CheckedFields):
    """How sleeves are generated.

    `steady`: each sleeve has one Sharpe ratio for good. `changing`: Sharpe ratios and correlation
    change with a regime that lasts. `dying`: in each half of the bars one good sleeve turns bad and
    its agent stays as confident as before. `worthless`: none earns anything.
    """

    kind: SleeveMarketKind = "changing"
    n_sleeves: int = bounded(6, ">= 2")
    n_bars: int = bounded(8_000, ">= 400")
    best_sharpe: float = bounded(0.16, "[0, inf)")
    """Mean ÷ deviation of a bar of the best sleeve; the others lie evenly from there down to
    `worst_sharpe`."""
    worst_sharpe: float = -0.08
    volatility_frac: float = bounded(0.005, "(0, 1)")
    """Deviation of a bar of the calmest sleeve; the wildest has twice that."""
    correlation: float = bounded(0.2, "[0, 1)")
    """Between any two sleeves; `changing`: of the calm regime, the other has three times that, at
    most 0.9."""
    regime_bars: int = bounded(200, ">= 2")
    """Mean length of a regime."""
    confidence_noise: float = bounded(0.1, "[0, inf)")
    """Deviation of what is added to confidence, which follows the Sharpe ratio in [0, 1]."""

    def __post_init__(self) -> None:
        """Refuse a best sleeve that is worse than the worst."""
        super().__post_init__()
        require(self.worst_sharpe <= self.best_sharpe, "worst_sharpe must not be the higher", self)


@dataclass(frozen=True, eq=False)
class PlantedSleeves:
    """A book of sleeves with what it was made of: what an oracle may know."""

    market: SleeveMarket
    book: SleeveBook
    drift: FloatArray
    """(T, N) expected return of the bar after t."""
    deviation: FloatArray
    """(N,) standard deviation of a bar."""
    correlation: FloatArray
    """(T,) of any two sleeves in the bar after t."""
    dies_at: tuple[tuple[int, int], ...] = field(default=())
    """(bar, sleeve) of deaths."""

    def covariance(self, bar: int) -> FloatArray:
        """Return the covariance (N, N) of the bar after `bar`."""
        n = len(self.deviation)
        matrix = np.full((n, n), self.correlation[bar])
        np.fill_diagonal(matrix, 1.0)
        return np.asarray(matrix * np.outer(self.deviation, self.deviation))


def plant_sleeves(market: SleeveMarket, seed: int) -> PlantedSleeves:
    """Generate sleeves; the same market and seed give the same book."""
    draws = stream(seed, "sleeve_market", market.kind)
    n, bars = market.n_sleeves, market.n_bars
    deviation = market.volatility_frac * np.linspace(1.0, 2.0, n)[draws.permutation(n)]
    regime = _regimes(market, draws)
    sharpe, believed, dies_at = _sharpes(market, regime, draws)
    calm = market.correlation
    stressed = min(0.9, 3.0 * calm) if market.kind == "changing" else calm
    correlation = np.where(regime > 0, stressed, calm)
    common = draws.standard_normal((bars, 1))
    own = draws.standard_normal((bars, n))
    noise = np.sqrt(correlation)[:, None] * common + np.sqrt(1.0 - correlation)[:, None] * own
    drift = sharpe * deviation
    returns = np.maximum(drift + deviation * noise, -0.9)
    top = max(market.best_sharpe - market.worst_sharpe, 1e-9)
    confidence = (believed - market.worst_sharpe) / top
    confidence = confidence + market.confidence_noise * draws.standard_normal((bars, n))
    label = f"synthetic sleeves {market.kind}, {n} × {bars:,} bars, seed {seed}"
    book = _book(label, returns, np.clip(confidence, 0.0, 1.0), regime)
    return PlantedSleeves(market, book, drift, deviation, correlation, dies_at)


def _regimes(market: SleeveMarket, draws: np.random.Generator) -> NDArray[np.int64]:
    """Return 0 or 1 (T,): a coin that is turned once in `regime_bars` bars on average."""
    if market.kind != "changing":
        return np.zeros(market.n_bars, np.int64)
    turns = draws.random(market.n_bars) < 1.0 / market.regime_bars
    return np.asarray(np.cumsum(turns) % 2)


def _sharpes(
    market: SleeveMarket, regime: NDArray[np.int64], draws: np.random.Generator
) -> tuple[FloatArray, FloatArray, tuple[tuple[int, int], ...]]:
    """Return true and believed Sharpe ratios (T, N) of a bar, and deaths."""
    n, bars = market.n_sleeves, market.n_bars
    levels = np.linspace(market.best_sharpe, market.worst_sharpe, n)
    if market.kind == "worthless":
        nothing = np.broadcast_to(np.minimum(levels, 0.0) - 0.02, (bars, n)).copy()
        guesses = np.broadcast_to(levels[draws.permutation(n)], (bars, n)).copy()
        return nothing, guesses, ()
    first, second = levels[draws.permutation(n)], levels[draws.permutation(n)]
    if market.kind == "steady":  # every sleeve keeps its own, in each half of the bars anew
        half = np.arange(bars)[:, None] < bars // 2
        true = np.where(half, first, second)
        return true, true, ()
    if market.kind == "changing":
        true = np.where(regime[:, None] > 0, second, first)
        return true, true, ()
    believed = np.broadcast_to(first, (bars, n)).copy()
    true, deaths = believed.copy(), []
    order = np.argsort(-first)
    for part, sleeve in ((0, int(order[0])), (1, int(order[1]))):
        bar = int((0.25 + 0.5 * part + 0.1 * draws.random()) * bars)
        end = bars // 2 if part == 0 else bars
        true[bar:end, sleeve] = -2.0 * market.best_sharpe
        deaths.append((bar, sleeve))
    return true, believed, tuple(deaths)


def _book(
    label: str, returns: FloatArray, confidence: FloatArray, regime: NDArray[np.int64]
) -> SleeveBook:
    """Return the book of sleeves that are always invested; row t of returns follows bar t."""
    bars, n = returns.shape
    value = np.ones((bars, n))
    value[1:] = np.cumprod(1.0 + returns[:-1], axis=0)
    one, zero = np.ones((bars, n)), np.zeros((bars, n))
    market = np.ones((bars, n))
    market[-1] = 0.0
    deep = np.full((bars, n), _DEEP_CCY)
    rows = np.stack([zero, returns, one, market, zero, deep, zero], axis=1)
    shown = np.stack([one, one, confidence], axis=-1)
    usable = np.ones(bars, dtype=bool)
    usable[0] = False
    return SleeveBook(
        symbols=tuple(f"S{number:03d}" for number in range(n)),
        closed_at=_FIRST_CLOSE_US + _HOUR_US * np.arange(bars, dtype=np.int64),
        label=label,
        synthetic=True,
        usable=usable,
        rows=torch.from_numpy(rows),
        close=_FIRST_PRICE * value,
        members=torch.from_numpy(see_sleeves(shown, value)),
        shared=torch.from_numpy(regime[:, None].astype(np.float32)),
        member_names=MEMBER_NAMES,
        shared_names=("regime",),
        value=value,
    )
