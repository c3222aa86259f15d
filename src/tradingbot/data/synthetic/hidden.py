"""Markets whose edge is visible in price history only: `hidden_trend`, `hidden_reversion`.

Trend: simple return of bar t+1 = vol_frac · (κ · x_t + ε_{t+1}) with x a latent AR(1).
Reversion: log price = random walk + stationary AR(1) deviation d, so the next return pulls d
towards zero; the walk's drift makes the mean simple return zero.
"""

from __future__ import annotations

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
    MarketSpec("hidden_trend", _TREND, HiddenTrendParams, generate_hidden_trend),
    MarketSpec("hidden_reversion", _REVERSION, HiddenReversionParams, generate_hidden_reversion),
)
