"""The `regimes` market: common, sector and own moves under a hidden chain of market regimes.

Every step is a simple return with a known mean: close[t] = close[t-1] · (1 + gap) · (1 + bar).
Shocks have mean zero given everything before the bar, so the expected close-to-close return of
bar t is exactly the drift of the regime that drives bar t. Its covariate `sentiment` is now and
then a score in [0, 1] that echoes a symbol's own past.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.synthetic import bar_shape, factors, regime_chain
from tradingbot.data.synthetic.market import FloatArray, GridSpec, MarketSpec, SyntheticMarket
from tradingbot.data.synthetic.regime_params import RegimesParams, SymbolTraits, draw_traits
from tradingbot.domain.seeding import stream

_MEMORY_BARS = 14  # how far back the score looks
_ROUND_UP_SESSIONS = 3.0  # every so often all symbols are scored
_ECHO, _NOISE = 0.5, 0.9  # weights before squashing into [0, 1]


def sentiment_events(
    own: factors.Steps,
    traits: SymbolTraits,
    clock: bar_shape.SessionClock,
    seed: int,
    per_session: float,
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
    raw = _ECHO * echo + _NOISE * factors.normals(seed, traits.names, "sentiment", bars)
    chance = 1 - np.exp(-per_session * clock.elapsed)
    if per_session > 0:
        chance[_round_ups(clock)] = 1
    published = factors.uniforms(seed, traits.names, "published", bars) < chance[:, None]
    return np.where(published, 1 / (1 + np.exp(-raw)), np.nan)


def _round_ups(clock: bar_shape.SessionClock) -> NDArray[np.bool_]:
    """(T,) bars at which every symbol is scored, so that none is silent for a week."""
    count = np.floor(np.cumsum(clock.elapsed) / _ROUND_UP_SESSIONS)
    return np.asarray(np.diff(count, prepend=-1) > 0)


_BLOCK = 96  # symbols worked on at a time: bounds memory, changes no number
_LARGEST_STEP = 0.45  # a single gap or bar moves no price by more than this fraction
_VARIANCE_SHAPE = bar_shape.DayShape(at_open=13.0, at_close=1.0)
_VOLUME_SHAPE = bar_shape.DayShape(at_open=4.0, at_close=5.0)
# Relative volatility of the common factors and of symbols' own moves in each regime: falling and
# turbulent markets move together.
_COMMON_LEVELS = np.array([0.75, 1.35, 0.75, 2.2])
_OWN_LEVELS = np.array([0.95, 1.1, 0.9, 1.3])
_VOLUME_SESSIONS, _VOLUME_STD, _VOLUME_NOISE = 3.0, 0.25, 0.25


@dataclass(frozen=True)
class _Stage:
    """What all symbols share."""

    clock: bar_shape.SessionClock
    regime: NDArray[np.int64]  # (T,)
    transition: FloatArray  # (4, 4)
    drifts: FloatArray  # (4,) per bar, for beta 1
    market: factors.Steps  # (T, 1)
    sectors: dict[str, factors.Steps]  # (T, 1) each


def generate_regimes(params: RegimesParams, grid: GridSpec, seed: int) -> SyntheticMarket:
    """Generate the market on a grid.

    `latent` holds: `regime` (T,), `transition` (4, 4), `drift_total` (4, N) expected close-to-close
    simple return of a bar in each regime, `drift_gap` and `drift_bar` (4, N) its two parts in bars
    that follow a night, `after_night` (T,), `expected_next_return` (T, N) given the regime at t,
    and `beta` (N,).
    """
    traits = draw_traits(params, grid, seed)
    stage = _set_stage(params, grid, traits, seed)
    fields = {
        name: np.empty(grid.shape)
        for name in ("opens", "highs", "lows", "closes", "volumes", "vwaps")
    }
    covariates = {"sentiment": np.empty(grid.shape)} if params.sentiment else {}
    for first in range(0, len(grid.symbols), _BLOCK):
        columns = slice(first, min(first + _BLOCK, len(grid.symbols)))
        for name, values in _symbol_block(params, stage, traits.columns(columns), seed).items():
            (fields | covariates)[name][:, columns] = values
    return SyntheticMarket(
        name=SPEC.name,
        symbols=grid.symbols,
        closed_at=grid.closed_at,
        **fields,
        covariates=covariates,
        latent=_latent(params, stage, traits),
        params=params.model_dump(),
        seed=seed,
    )


def _set_stage(params: RegimesParams, grid: GridSpec, traits: SymbolTraits, seed: int) -> _Stage:
    clock = bar_shape.session_clock(
        grid, overnight_share=params.overnight_share, variance=_VARIANCE_SHAPE, volume=_VOLUME_SHAPE
    )
    transition = regime_chain.transition_matrix(params.durations_sessions * clock.bars_per_session)
    shares = regime_chain.stationary_shares(transition)
    chain = stream(seed, "regimes", "chain")
    start = min(int(np.searchsorted(np.cumsum(shares), chain.random())), len(shares) - 1)
    regime = regime_chain.sample_path(transition, start, chain.random(len(clock.elapsed)))
    levels = _levels(_COMMON_LEVELS, shares, regime)
    session = 1 / np.sqrt(clock.sessions_per_year)

    def common(name: tuple[str, ...], annual: float) -> factors.Steps:
        model = params.market_model if name[1] == "market" else params.sector_model
        scales = levels * (annual * session)
        return factors.component_steps(model, clock, scales=scales, seed=seed, names=[name])

    return _Stage(
        clock=clock,
        regime=regime,
        transition=transition,
        drifts=params.drifts_annual / clock.bars_per_year,
        market=common(("regimes", "market"), params.market_volatility),
        sectors={
            sector: common(("regimes", "sector", sector), params.sector_volatility)
            for sector in dict.fromkeys(traits.sectors)
        },
    )


def _levels(levels: FloatArray, shares: FloatArray, regime: NDArray[np.int64]) -> FloatArray:
    """(T, 1) volatility multipliers with long-run mean square 1."""
    normal = levels / np.sqrt(shares @ levels**2)
    return np.asarray(normal[regime][:, None])


def _symbol_block(
    params: RegimesParams, stage: _Stage, traits: SymbolTraits, seed: int
) -> dict[str, FloatArray]:
    own = _own_steps(params, stage, traits, seed)
    sentiment: dict[str, FloatArray] = {}
    if params.sentiment:
        often = params.sentiment_per_session
        sentiment["sentiment"] = sentiment_events(own, traits, stage.clock, seed, often)
    gap, bar, variance = _total_steps(stage, traits, own)
    del own
    drift = stage.drifts[stage.regime][:, None] * traits.betas
    night = drift * np.where(stage.clock.opens, params.overnight_share, 0)[:, None]
    np.clip(gap, -_LARGEST_STEP, _LARGEST_STEP, out=gap)
    np.clip(bar, -_LARGEST_STEP, _LARGEST_STEP, out=bar)
    gap += 1 + night
    bar += (1 + drift) / (1 + night)
    closes = traits.first_prices * np.cumprod(gap * bar, axis=0)
    opens = closes / bar
    draws = [factors.uniforms(seed, traits.names, part, len(gap)) for part in ("high", "low")]
    highs, lows = bar_shape.extremes(opens, closes, variance, np.stack(draws))
    noise = factors.normals(seed, traits.names, "vwap", len(gap))
    return {
        "opens": opens,
        "highs": highs,
        "lows": lows,
        "closes": closes,
        "vwaps": bar_shape.mean_price(opens, highs, lows, closes, noise),
        "volumes": _volumes(params, stage.clock, traits, variance, seed),
        **sentiment,
    }


def _own_steps(
    params: RegimesParams, stage: _Stage, traits: SymbolTraits, seed: int
) -> factors.Steps:
    shares = regime_chain.stationary_shares(stage.transition)
    session = 1 / np.sqrt(stage.clock.sessions_per_year)
    scales = _levels(_OWN_LEVELS, shares, stage.regime) * (traits.own_volatility * session)
    return factors.component_steps(
        params.idio_model, stage.clock, scales=scales, seed=seed, names=traits.names
    )


def _total_steps(
    stage: _Stage, traits: SymbolTraits, own: factors.Steps
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Add exposures to the common factors: gap, bar, and variance of the bar, (T, n) each."""
    sector_of = [stage.sectors[sector] for sector in traits.sectors]
    totals = []
    for part, power in (("gap", 1), ("bar", 1), ("bar_variance", 2)):
        total = traits.betas**power * getattr(stage.market, part)
        for column, (steps, beta) in enumerate(zip(sector_of, traits.sector_betas, strict=True)):
            total[:, column] += beta**power * getattr(steps, part)[:, 0]
        total += getattr(own, part)
        totals.append(total)
    return totals[0], totals[1], totals[2]


def _volumes(
    params: RegimesParams,
    clock: bar_shape.SessionClock,
    traits: SymbolTraits,
    variance: FloatArray,
    seed: int,
) -> FloatArray:
    bars = len(clock.elapsed)
    usual_variance = (
        (params.market_volatility * traits.betas) ** 2
        + (params.sector_volatility * traits.sector_betas) ** 2
        + traits.own_volatility**2
    ) / clock.sessions_per_year
    heat = variance / np.maximum(clock.bar_variance[:, None] * usual_variance, 1e-18)
    keep = np.exp(-clock.elapsed / _VOLUME_SESSIONS)
    interest = factors.normals(seed, traits.names, "interest", bars + 1)
    drive = interest[1:] * np.sqrt(1 - keep**2)[:, None]
    noise = _VOLUME_STD * factors.autoregression(interest[0], keep, drive)
    noise += _VOLUME_NOISE * factors.normals(seed, traits.names, "volume", bars)
    return bar_shape.traded_units(
        traits.session_units * clock.volume[:, None], heat, noise, params.volume_link
    )


def _latent(params: RegimesParams, stage: _Stage, traits: SymbolTraits) -> dict[str, Any]:
    drift = stage.drifts[:, None] * traits.betas
    night = 0.0 if stage.clock.never_closes else params.overnight_share
    return {
        "regime": stage.regime,
        "transition": stage.transition,
        "drift_total": drift,
        "drift_gap": night * drift,
        "drift_bar": (1 + drift) / (1 + night * drift) - 1,
        "after_night": stage.clock.opens,
        "expected_next_return": (stage.transition @ drift)[stage.regime],
        "beta": traits.betas,
    }


SPEC = MarketSpec(
    name="regimes",
    summary="Realistic bars: hidden bull, bear, sideways and turbulent regimes, fat tails, gaps",
    defaults=RegimesParams,
    generate=generate_regimes,
)
