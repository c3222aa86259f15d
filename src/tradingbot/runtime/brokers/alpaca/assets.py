"""What Alpaca allows with symbols: asked for one by one where they are few, else read as a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tradingbot.runtime.brokers.alpaca.reading import read_asset
from tradingbot.runtime.brokers.alpaca.wire import TradingWire, VenueRefusalError, wire_symbol
from tradingbot.runtime.brokers.protocol import BrokerAsset

AssetBodies = Mapping[str, dict[str, Any] | None]
"""Symbol → what the venue says; None where it does not trade it."""


def fetch_assets(
    wire: TradingWire, ask: Callable[[Callable[[], Any]], Any], symbols: Sequence[str], single: int
) -> AssetBodies:
    """Ask for each of at most `single` symbols, or for all shares that are traded.

    Args:
        wire: To the venue.
        ask: Repeats a question whose answer was lost.
        symbols: As we spell them.
        single: Up to how many are asked for one by one.
    """
    if len(symbols) <= single:
        return {symbol: ask(partial(_fetch_one, wire, symbol)) for symbol in symbols}
    listed = {str(body.get("symbol")): body for body in ask(wire.active_assets)}
    return {symbol: listed.get(wire_symbol(symbol)) for symbol in symbols}


def read_assets(bodies: AssetBodies) -> dict[str, BrokerAsset]:
    """Read them; what the venue does not trade is halted."""
    return {
        symbol: BrokerAsset(symbol, *(False,) * 3, halted=True)
        if body is None
        else read_asset(body, symbol)
        for symbol, body in bodies.items()
    }


def _fetch_one(wire: TradingWire, symbol: str) -> dict[str, Any] | None:
    try:
        return wire.asset(wire_symbol(symbol))
    except VenueRefusalError as e:
        if e.is_unknown_order:
            return None
        raise
