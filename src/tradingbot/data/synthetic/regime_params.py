"""Parameters of the `regimes` market, and what sets its symbols apart.

The defaults give facts near those of real hourly bars. Symbols differ in exposures, volatility of
their own, price and size.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from tradingbot.data.synthetic.factors import (
    ComponentModel,
    JumpModel,
    StreamName,
    VolatilityModel,
    normals,
)
from tradingbot.data.synthetic.market import FloatArray, GridSpec, MarketParams

Annual = Annotated[float, Field(ge=0, le=5)]
Drift = Annotated[float, Field(ge=-3, le=3)]
Sessions = Annotated[float, Field(ge=1, le=10_000)]
Share = Annotated[float, Field(ge=0, le=0.95)]
PerYear = Annotated[float, Field(ge=0, le=100)]
Freedom = Annotated[float, Field(gt=2.1, le=1000)]
JumpSize = Annotated[float, Field(ge=0, le=20)]
LogStd = Annotated[float, Field(ge=0, le=1.5)]


class RegimesParams(MarketParams):
    """What can be chosen about the market; rates are per year unless they say otherwise."""

    market_volatility: Annual = 0.135
    """Long-run σ of the common factor; the other two come on top."""
    sector_volatility: Annual = 0.12
    """Long-run σ of each sector's factor."""
    idio_volatility: Annual = 0.22
    """Median over symbols of the σ of what is the symbol's own."""
    idio_spread: LogStd = 0.4
    """Standard deviation across symbols of the log of that σ."""
    beta_spread: LogStd = 0.35
    """Standard deviation across symbols of the exposure to the market, around 1."""
    bull_drift: Drift = 0.35
    """Expected return of a symbol with beta 1 while the regime lasts."""
    bear_drift: Drift = -0.45
    sideways_drift: Drift = 0.03
    turbulent_drift: Drift = -0.15
    bull_sessions: Sessions = 60
    """Mean length of a stay in the regime."""
    bear_sessions: Sessions = 30
    sideways_sessions: Sessions = 40
    turbulent_sessions: Sessions = 12
    overnight_share: Share = 0.33
    """Share of a session's variance in the gap before it; 0 where the market never closes."""
    leverage: Annotated[float, Field(ge=-0.95, le=0.95)] = -0.45
    """Correlation of the market's shock with its next volatility; negative: falls excite."""
    market_freedom: Freedom = 6
    """Degrees of freedom of Student's t for common shocks."""
    idio_freedom: Freedom = 6
    """The same for a symbol's own shocks."""
    volatility_clustering: Annotated[float, Field(ge=0, le=2)] = 1.0
    """Scales how much log volatility varies; 0 switches clustering off."""
    jumps_per_year: PerYear = 3
    """Overnight jumps of each symbol alone (reports, mostly)."""
    jump_size: JumpSize = 4.0
    """σ of such a jump ÷ the σ of the symbol's own moves over a session."""
    common_jumps_per_year: PerYear = 2
    """Jumps of the common factor inside a bar."""
    common_jump_size: JumpSize = 1.5
    """σ of such a jump ÷ the σ of the market over a session."""
    volume_link: Annotated[float, Field(ge=0, le=2)] = 0.6
    """Elasticity of volume to the bar's volatility."""
    sentiment: bool = True
    """Whether the covariate `sentiment` is made."""
    sentiment_per_session: Annotated[float, Field(ge=0, le=50)] = 1.0
    """Mean number of new values at random times in a session; each third session brings one."""

    @property
    def drifts_annual(self) -> FloatArray:
        """(4,) in order of `Regime`."""
        return np.array(
            [self.bull_drift, self.bear_drift, self.sideways_drift, self.turbulent_drift]
        )

    @property
    def durations_sessions(self) -> FloatArray:
        """(4,) in order of `Regime`."""
        calm = (self.bull_sessions, self.bear_sessions, self.sideways_sessions)
        return np.array([*calm, self.turbulent_sessions])

    @property
    def market_model(self) -> ComponentModel:
        """Behaviour of the common factor."""
        jumps = JumpModel(self.common_jumps_per_year, self.common_jump_size, overnight=False)
        return ComponentModel(
            self._clustering(0.4, 0.45, self.leverage), self.market_freedom, jumps
        )

    @property
    def sector_model(self) -> ComponentModel:
        """Behaviour of a sector's factor."""
        clustering = self._clustering(0.25, 0.3, self.leverage / 3)
        return ComponentModel(clustering, self.market_freedom, JumpModel(0, 0, overnight=False))

    @property
    def idio_model(self) -> ComponentModel:
        """Behaviour of what is a symbol's own."""
        jumps = JumpModel(self.jumps_per_year, self.jump_size, overnight=True)
        return ComponentModel(self._clustering(0.3, 0.55, 0), self.idio_freedom, jumps)

    def _clustering(self, slow_std: float, fast_std: float, leverage: float) -> VolatilityModel:
        factor = self.volatility_clustering
        return VolatilityModel(factor * slow_std, factor * fast_std, 20, 0.7, leverage)


_INVENTED_SECTORS = 9
_LOWEST_BETA, _HIGHEST_BETA = 0.2, 2.5
_FUND_SHARE = 0.4  # a fund holds many names: less of its moves are its own
_MEDIAN_PRICE_CCY, _MEDIAN_TURNOVER_CCY = 100.0, 5e8


@dataclass(frozen=True)
class SymbolTraits:
    """Constants of n symbols."""

    names: tuple[StreamName, ...]  # of their random streams
    sectors: tuple[str, ...]
    betas: FloatArray  # (n,) exposure to the market factor
    sector_betas: FloatArray  # (n,) exposure to the sector's factor
    own_volatility: FloatArray  # (n,) annual σ of the symbol's own moves
    first_prices: FloatArray  # (n,) close before the first bar
    session_units: FloatArray  # (n,) usual volume of a full session

    def columns(self, part: slice) -> SymbolTraits:
        """Restrict to some of the symbols."""
        return SymbolTraits(*(values[part] for values in vars(self).values()))


def draw_traits(params: RegimesParams, grid: GridSpec, seed: int) -> SymbolTraits:
    """Draw each symbol's constants from its own stream; place it in a sector if it has none."""
    names = tuple(("regimes", "symbol", symbol) for symbol in grid.symbols)
    beta, sector_beta, own, price, turnover = normals(seed, names, "traits", 5)
    first_prices = _MEDIAN_PRICE_CCY * np.exp(0.6 * price)
    return SymbolTraits(
        names=names,
        sectors=tuple(
            _invented_sector(symbol) if sector == "unknown" else sector
            for symbol, sector in zip(grid.symbols, grid.sectors, strict=True)
        ),
        betas=np.clip(1 + params.beta_spread * beta, _LOWEST_BETA, _HIGHEST_BETA),
        sector_betas=np.clip(1 + 0.25 * sector_beta, 0.3, 1.7),
        own_volatility=params.idio_volatility
        * np.exp(params.idio_spread * own)
        * np.array([_FUND_SHARE if sector.startswith("etf") else 1.0 for sector in grid.sectors]),
        first_prices=first_prices,
        session_units=_MEDIAN_TURNOVER_CCY * np.exp(1.0 * turnover) / first_prices,
    )


def _invented_sector(symbol: str) -> str:
    digest = hashlib.sha256(symbol.encode()).digest()
    return f"sector-{digest[0] % _INVENTED_SECTORS + 1}"
