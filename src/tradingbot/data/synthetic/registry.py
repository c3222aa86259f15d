"""Which synthetic markets exist, and how one is made by name.

To add a market: write its file with a `SPEC` (or several), import it here, add it to `_SPECS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

import numpy as np
from pydantic import ValidationError

from tradingbot.data.calendar import TradingCalendar
from tradingbot.data.synthetic import linear_markets, regimes, spike_in
from tradingbot.data.synthetic.market import GridSpec, MarketParams, MarketSpec, SyntheticMarket
from tradingbot.domain.errors import ConfigError, DataError, require_known, suggest
from tradingbot.domain.symbol import require_symbol
from tradingbot.domain.timeframe import BarGrid, Timeframe

_SPECS: tuple[MarketSpec, ...] = (regimes.SPEC, spike_in.SPEC, *linear_markets.SPECS)
_MARKETS = {spec.name: spec for spec in _SPECS}
_MAX_SEED = 2**63 - 1


def register(spec: MarketSpec) -> MarketSpec:
    """Make a market known by its name.

    Raises:
        ConfigError: If another market has that name already.
    """
    if _MARKETS.get(spec.name, spec) != spec:
        raise ConfigError("market name must be free", was=repr(spec.name))
    _MARKETS[spec.name] = spec
    return spec


def unregister(name: str) -> None:
    """Forget a market again.

    Raises:
        ConfigError: If there is none of that name.
    """
    del _MARKETS[market(name).name]


def market(name: str) -> MarketSpec:
    """Look a market up.

    Raises:
        ConfigError: If there is none of that name; names the closest one.
    """
    return _MARKETS[require_known(name, _MARKETS, "market must be a known one")]


def known_markets() -> tuple[MarketSpec, ...]:
    """Every market, in order of name."""
    return tuple(_MARKETS[name] for name in sorted(_MARKETS))


def parse_params(spec: MarketSpec, params: Mapping[str, object]) -> MarketParams:
    """Check parameters against a market's model and fill in its defaults.

    Raises:
        ConfigError: Naming the first parameter that is unknown, of the wrong type, not finite or
            out of range.
    """
    try:
        return spec.defaults.model_validate(dict(params))
    except ValidationError as e:
        problem = e.errors()[0]
        key = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            rule = f"parameter of market {spec.name!r} must be a known one"
            remedy = suggest(key, spec.defaults.model_fields)
            raise ConfigError(rule, was=repr(key), remedy=remedy) from e
        rule = f"parameter {key or 'set'} of market {spec.name!r} is not allowed: {problem['msg']}"
        remedy = "Correct the parameter or leave it out for its default"
        raise ConfigError(rule, was=repr(problem["input"])[:60], remedy=remedy) from e


def lay_grid(
    symbols: Sequence[str],
    calendar: TradingCalendar,
    *,
    timeframe: Timeframe,
    grid: BarGrid = BarGrid.SESSION,
    sectors: Sequence[str] | None = None,
) -> GridSpec:
    """Lay symbols on the bars of a calendar.

    Raises:
        DataError: If there is no symbol, one is named twice, or the calendar has no bar.
        ConfigError: If sectors are given but not one for each symbol.
    """
    if not symbols or len(set(symbols)) != len(symbols):
        raise DataError("symbols must be one or more, each named once", was=", ".join(symbols)[:60])
    if sectors is not None and len(sectors) != len(symbols):
        raise ConfigError(
            "sectors must be one for each symbol", was=f"{len(sectors)} for {len(symbols)} symbols"
        )
    bars = calendar.bar_closes(timeframe, grid)
    if bars.is_empty():
        rule = "the period must hold a trading session"
        remedy = "Choose a longer period"
        raise DataError(rule, was=f"none from {calendar.start} to {calendar.end}", remedy=remedy)
    session = np.unique(bars["session"].to_numpy(), return_inverse=True)[1]
    return GridSpec(
        symbols=tuple(require_symbol(symbol) for symbol in symbols),
        sectors=tuple(sectors) if sectors is not None else ("unknown",) * len(symbols),
        opened_at=bars["opened_at"].to_numpy().astype("datetime64[us]"),
        closed_at=bars["closed_at"].to_numpy().astype("datetime64[us]"),
        session=session.astype(np.int64),
    )


def generate(  # noqa: PLR0913 - one keyword for each thing that identifies a generated dataset
    name: str,
    *,
    symbols: Sequence[str],
    start: date,
    end: date,
    timeframe: Timeframe | str = "1h",
    grid: BarGrid = BarGrid.SESSION,
    calendar: str = "XNYS",
    seed: int = 0,
    sectors: Sequence[str] | None = None,
    **params: object,
) -> SyntheticMarket:
    """Generate a market by name; the same arguments give the same bits.

    Args:
        name: A registered market.
        symbols: N symbols in universe order.
        start: First day.
        end: Last day, included.
        timeframe: Length of a bar.
        grid: Where bars begin inside a session.
        calendar: exchange_calendars name, or `24/7`.
        seed: Root of every random stream, in [0, 2⁶³).
        sectors: N sector names; None lets the market assign them where it needs any.
        **params: Parameters of the market; defaults for the rest.

    Raises:
        ConfigError: If the market, a parameter or the seed is not allowed.
        DataError: If the symbols or the period cannot make a grid.
    """
    spec = market(name)
    checked = parse_params(spec, params)
    if not 0 <= seed <= _MAX_SEED:
        raise ConfigError("seed must lie in [0, 2^63)", was=seed, remedy="Use e.g. --seed 7")
    frame = Timeframe.parse(timeframe) if isinstance(timeframe, str) else timeframe
    sessions = TradingCalendar.load(calendar, start, end)
    laid = lay_grid(symbols, sessions, timeframe=frame, grid=grid, sectors=sectors)
    return spec.generate(checked, laid, seed)
