"""Markets with a known edge: an observable AR(1) signal, or one that only price history shows.

`planted`, `opposed`, `cost_trap`, `noise`: simple return of bar t+1 = vol_frac · (κ · x_t +
ε_{t+1}), where x is the covariate "signal" at close t, stationary with unit variance and
persistence φ, and ε is standard normal. κ may differ by symbol (`kappa_spread`, `reversed_frac`)
and turn its sign at one bar for all (`turn_frac`); holding may earn a premium. `hidden_trend`: the
same with x a latent AR(1). `hidden_reversion`: log price = random walk + stationary AR(1) deviation
d, so the next return pulls d towards zero; the walk's drift makes the mean simple return zero.
"""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field

from tradingbot.data.synthetic.linear_bars import build_market, draw_ar1, draw_noise
from tradingbot.data.synthetic.market import (
    FloatArray,
    GridSpec,
    MarketParams,
    MarketSpec,
    SyntheticMarket,
)
from tradingbot.domain.seeding import stream


class PlantedParams(MarketParams):
    """Strength, persistence and scale of an observable signal."""

    kappa: float = Field(default=0.10, ge=0.0, le=1.0)
    """Expected return per unit of signal, in units of `vol_frac`."""
    phi: float = Field(default=0.9, ge=0.0, le=0.999)
    """Persistence of the signal per bar."""
    vol_frac: float = Field(default=0.006, gt=0.0, le=0.05)
    """Standard deviation of the noise in one bar's simple return."""
    correlation: float = Field(default=0.0, ge=0.0, le=0.95)
    """Correlation of the noise between any two symbols."""
    premium_annual_frac: float = Field(default=0.0, ge=-0.5, le=0.5)
    """Mean return of every symbol per year that no signal tells: what holding is paid for."""
    kappa_spread: float = Field(default=0.0, ge=0.0, le=1.0)
    """Standard deviation between symbols of a normal κ_i around `kappa`; 0: all the same."""
    reversed_frac: float = Field(default=0.0, ge=0.0, le=1.0)
    """Share of the symbols, drawn at random and rounded down, for which the sign is reversed."""
    turn_frac: float = Field(default=1.0, ge=0.0, le=1.0)
    """Place in the bars, as a share of them, from which on every sign is reversed; 1: nowhere."""


class OpposedParams(PlantedParams):
    """A signal that means the opposite for half of the symbols."""

    reversed_frac: float = Field(default=0.5, ge=0.0, le=1.0)
    """Share of the symbols, drawn at random and rounded down, for which the sign is reversed."""


class CostTrapParams(PlantedParams):
    """A signal that is real, and gone before it has earned what it costs to follow."""

    kappa: float = Field(default=0.01, ge=0.0, le=1.0)
    """Expected return per unit of signal, in units of `vol_frac`."""
    phi: float = Field(default=0.2, ge=0.0, le=0.999)
    """Persistence of the signal per bar."""


class NoiseParams(MarketParams):
    """A signal that means nothing; there is no strength to set."""

    phi: float = Field(default=0.9, ge=0.0, le=0.999)
    """Persistence of the decoy per bar."""
    vol_frac: float = Field(default=0.006, gt=0.0, le=0.05)
    """Standard deviation of one bar's simple return."""
    correlation: float = Field(default=0.0, ge=0.0, le=0.95)
    """Correlation of the noise between any two symbols."""
    premium_annual_frac: float = Field(default=0.0, ge=-0.5, le=0.5)
    """Mean return of every symbol per year that no signal tells: what holding is paid for."""


def generate_planted(params: PlantedParams, grid: GridSpec, seed: int) -> SyntheticMarket:
    """Generate a market where the signal means the same for every symbol, unless params differ."""
    return _generate("planted", params, grid, seed)


def generate_opposed(params: OpposedParams, grid: GridSpec, seed: int) -> SyntheticMarket:
    """Generate a market where the signal means the opposite for a random half of the symbols.

    With an odd number of symbols the smaller half is flipped.
    """
    return _generate("opposed", params, grid, seed)


def generate_cost_trap(params: CostTrapParams, grid: GridSpec, seed: int) -> SyntheticMarket:
    """Generate a market whose signal is real but, at ordinary costs, not worth following."""
    return _generate("cost_trap", params, grid, seed)


def generate_noise(params: NoiseParams, grid: GridSpec, seed: int) -> SyntheticMarket:
    """Generate a market without any edge, with a decoy signal."""
    return _generate("noise", params, grid, seed)


def _generate(
    name: str, params: PlantedParams | NoiseParams, grid: GridSpec, seed: int
) -> SyntheticMarket:
    count = grid.shape[1]
    kappa, sign = np.zeros(count), np.ones(grid.shape[0])
    if isinstance(params, PlantedParams):
        kappa = _draw_strengths(name, params, count, seed)
        sign[round(params.turn_frac * grid.shape[0]) :] = -1.0
    # One row more than bars: the first bar's return answers to the signal before it.
    signal = draw_ar1(stream(seed, name, "signal"), (grid.shape[0] + 1, count), phi=params.phi)
    noise = draw_noise(stream(seed, name, "noise"), grid.shape, correlation=params.correlation)
    moves = params.vol_frac * (sign[:, None] * kappa * signal[:-1] + noise)
    premium = params.premium_annual_frac / grid.bars_per_year
    return build_market(
        name,
        grid,
        seed,
        simple_returns=moves + premium if premium else moves,
        vol_frac=params.vol_frac,
        covariates={"signal": signal[1:]},
        latent={"kappa": kappa, "sign": sign, "premium": np.full(1, premium)},
        params=params,
    )


def _draw_strengths(name: str, params: PlantedParams, count: int, seed: int) -> FloatArray:
    """Draw κ of each symbol, (N,)."""
    kappa = np.full(count, params.kappa)
    if params.kappa_spread > 0.0:
        kappa += params.kappa_spread * stream(seed, name, "strengths").standard_normal(count)
    n_reversed = math.floor(params.reversed_frac * count)
    kappa[stream(seed, name, "flipped").permutation(count)[:n_reversed]] *= -1.0
    return kappa


class HiddenTrendParams(MarketParams):
    """Strength and persistence of a latent drift."""

    kappa: float = Field(default=0.15, ge=0.0, le=1.0)
    """Expected return per unit of latent drift, in units of `vol_frac`."""
    phi: float = Field(default=0.98, ge=0.0, le=0.999)
    """Persistence of the drift per bar."""
    vol_frac: float = Field(default=0.006, gt=0.0, le=0.05)
    """Standard deviation of the noise in one bar's simple return."""
    correlation: float = Field(default=0.0, ge=0.0, le=0.95)
    """Correlation of the noise between any two symbols."""
    decoy: bool = False
    """Adds a covariate "signal" that is pure noise."""


class HiddenReversionParams(MarketParams):
    """How much of the movement is passing, and how long it lasts."""

    share: float = Field(default=0.5, ge=0.0, le=1.0)
    """Fraction of the variance of one bar's log return that comes from the deviation."""
    phi: float = Field(default=0.9, ge=0.0, le=0.999)
    """Persistence of the deviation per bar."""
    vol_frac: float = Field(default=0.006, gt=0.0, le=0.05)
    """Standard deviation of one bar's log return."""
    correlation: float = Field(default=0.0, ge=0.0, le=0.95)
    """Correlation of the random walks of any two symbols."""
    decoy: bool = False
    """Adds a covariate "signal" that is pure noise."""

    @property
    def deviation_frac(self) -> float:
        """Stationary standard deviation of the deviation, in log price."""
        return self.vol_frac * float(np.sqrt(self.share / (2.0 * (1.0 - self.phi))))

    @property
    def walk_frac(self) -> float:
        """Standard deviation of one step of the random walk, in log price."""
        return self.vol_frac * float(np.sqrt(1.0 - self.share))


def generate_hidden_trend(params: HiddenTrendParams, grid: GridSpec, seed: int) -> SyntheticMarket:
    """Generate a market with a persistent drift that only past returns betray."""
    name = "hidden_trend"
    count = grid.shape[1]
    drift = draw_ar1(stream(seed, name, "drift"), (grid.shape[0] + 1, count), phi=params.phi)
    noise = draw_noise(stream(seed, name, "noise"), grid.shape, correlation=params.correlation)
    return build_market(
        name,
        grid,
        seed,
        simple_returns=params.vol_frac * (params.kappa * drift[:-1] + noise),
        vol_frac=params.vol_frac,
        covariates=_decoy(name, grid, seed, wanted=params.decoy),
        latent={"drift": drift[1:]},
        params=params,
    )


def generate_hidden_reversion(
    params: HiddenReversionParams, grid: GridSpec, seed: int
) -> SyntheticMarket:
    """Generate a market whose price wanders off a random walk and comes back."""
    name = "hidden_reversion"
    rows = (grid.shape[0] + 1, grid.shape[1])
    deviation = params.deviation_frac * draw_ar1(
        stream(seed, name, "deviation"), rows, phi=params.phi
    )
    noise = draw_noise(stream(seed, name, "noise"), grid.shape, correlation=params.correlation)
    drift = -0.5 * params.vol_frac**2
    log_returns = drift + params.walk_frac * noise + np.diff(deviation, axis=0)
    return build_market(
        name,
        grid,
        seed,
        simple_returns=np.expm1(log_returns),
        vol_frac=params.vol_frac,
        covariates=_decoy(name, grid, seed, wanted=params.decoy),
        latent={"deviation": deviation[1:]},
        params=params,
    )


def _decoy(name: str, grid: GridSpec, seed: int, *, wanted: bool) -> dict[str, FloatArray]:
    if not wanted:
        return {}
    return {"signal": draw_ar1(stream(seed, name, "decoy"), grid.shape, phi=0.9)}


_TREND = "a latent drift, seen in prices only"
_REVERSION = "passing deviations from a random walk, seen in prices only"
SPECS = (
    MarketSpec(
        "planted", "an observable AR(1) signal, the same for all", PlantedParams, generate_planted
    ),
    MarketSpec(
        "opposed", "as planted, half of the symbols reversed", OpposedParams, generate_opposed
    ),
    MarketSpec(
        "cost_trap", "a real signal smaller than its cost", CostTrapParams, generate_cost_trap
    ),
    MarketSpec("noise", "no edge at all, with a decoy signal", NoiseParams, generate_noise),
    MarketSpec("hidden_trend", _TREND, HiddenTrendParams, generate_hidden_trend),
    MarketSpec("hidden_reversion", _REVERSION, HiddenReversionParams, generate_hidden_reversion),
)
