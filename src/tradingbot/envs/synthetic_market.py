"""The generated market behind a synthetic world, latent state and all, which oracles ask for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.synthetic.market import GridSpec, SyntheticMarket
from tradingbot.data.synthetic.registry import market as find_market
from tradingbot.data.synthetic.registry import parse_params
from tradingbot.domain.errors import ConfigError
from tradingbot.features.inputs import BAR_FIELDS, CovariateEvents, MarketInputs

BARS_PER_SESSION = 7
_FIRST_SESSION = np.datetime64("2016-01-04")
_OPEN_MINUTES = 14 * 60 + 30  # UTC, of every session of a generated market


def synthetic_market(
    kind: str, *, n_symbols: int, n_bars: int, seed: int, params: Mapping[str, object]
) -> SyntheticMarket:
    """Generate the market of `build_world.synthetic_world`; the same arguments give the same bits.

    Args:
        kind: A market of `data.synthetic`.
        n_symbols: N, named S000, S001 …
        n_bars: T.
        seed: Root of every random stream.
        params: Parameters of the market.

    Raises:
        ConfigError: If the market, a parameter or a size is not allowed.
    """
    for name, size in (("n_symbols", n_symbols), ("n_bars", n_bars)):
        if size < 1:
            raise ConfigError(f"{name} must be 1 or more", was=size, where="synthetic_world")
    if not 0 <= seed < 2**63:
        raise ConfigError("seed must lie in [0, 2^63)", was=seed, where="synthetic_world")
    spec = find_market(kind)
    symbols = tuple(f"S{index:03d}" for index in range(n_symbols))
    return spec.generate(parse_params(spec, dict(params)), weekday_grid(symbols, n_bars), seed)


def weekday_grid(symbols: tuple[str, ...], n_bars: int) -> GridSpec:
    """Lay symbols on 09:30–16:00 of weekdays: six bars of an hour and one of half an hour."""
    bar = np.arange(n_bars)
    session, place = bar // BARS_PER_SESSION, bar % BARS_PER_SESSION
    day = np.busday_offset(_FIRST_SESSION, session, roll="forward").astype("datetime64[us]")
    opened = day + (_OPEN_MINUTES + 60 * place).astype("timedelta64[m]")
    minutes = np.where(place == BARS_PER_SESSION - 1, 30, 60).astype("timedelta64[m]")
    sectors = ("unknown",) * len(symbols)
    return GridSpec(symbols, sectors, opened, opened + minutes, session.astype(np.int64))


def inputs_of_market(market: SyntheticMarket) -> MarketInputs:
    """Lay a generated market out as what features are computed from; every bar is there."""
    columns = [getattr(market, f"{name}s") for name in BAR_FIELDS]
    return MarketInputs(
        symbols=market.symbols,
        closed_at=market.closed_at,
        present=np.ones(market.shape, dtype=bool),
        bars=dict(zip(BAR_FIELDS, columns, strict=True)),
        covariates=known_at_close(market.covariates, market.closed_at),
    )


def known_at_close(
    covariates: Mapping[str, NDArray[np.float64]], closed_at: NDArray[np.datetime64]
) -> dict[str, CovariateEvents]:
    """Return values (T, N) as events at the closes of their bars; NaN is no event."""
    events = {}
    for name, values in covariates.items():
        bar, symbol = np.nonzero(~np.isnan(values))
        events[name] = CovariateEvents(symbol, closed_at[bar], values[bar, symbol])
    return events
