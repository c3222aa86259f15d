"""What sets symbols of the `regimes` market apart: exposures, own volatility, price, size."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from tradingbot.data.synthetic.market import FloatArray, GridSpec
from tradingbot.data.synthetic.named_draws import StreamName, normals
from tradingbot.data.synthetic.regime_params import RegimesParams

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
        return SymbolTraits(
            self.names[part],
            self.sectors[part],
            self.betas[part],
            self.sector_betas[part],
            self.own_volatility[part],
            self.first_prices[part],
            self.session_units[part],
        )


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
