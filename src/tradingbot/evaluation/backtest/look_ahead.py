"""Does a strategy of one's own look ahead? Its decisions with another future must be the same.

The other future is a world whose bars after a cut are others; what was decided before must not
change by one bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tradingbot.agents.strategies.policy import read_targets, vectorised_targets
from tradingbot.agents.strategies.view import FloatArray, MarketReel
from tradingbot.domain.errors import DataError
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest.world_tables import WorldTables
from tradingbot.plugins.declaration import DeclaredStrategy

_PRICE_FACTOR = np.float32(1.37)
"""Prices of the other future; any level that differs will do."""


def with_other_future(world: World, bar: int) -> World:
    """Replace everything after a bar: later bars backwards, at other prices, with signs turned."""
    later = slice(bar + 1, world.n_bars)

    def backwards(values: np.ndarray, factor: float = 1.0) -> np.ndarray:
        other = values.copy()
        other[:, later] = values[:, later][:, ::-1] * np.asarray(factor, dtype=values.dtype)
        return other

    prices = backwards(world.prices)
    prices[:, later, :4] *= np.asarray(_PRICE_FACTOR, dtype=prices.dtype)
    probabilities = backwards(world.probabilities)
    probabilities[:, later] = np.roll(probabilities[:, later], 1, axis=-1)
    vwap = None if world.vwap is None else backwards(world.vwap, float(_PRICE_FACTOR))
    return replace(
        world,
        prices=prices,
        present=backwards(world.present),
        features=backwards(world.features, -1.0),
        regimes=backwards(world.regimes, -1.0),
        probabilities=probabilities,
        usable=backwards(world.usable),
        vwap=vwap,
        label=f"{world.label}, another future after bar {bar}",
    )


_CUTS = 5


def require_causal(
    strategy: DeclaredStrategy,
    world: World,
    *,
    scaled: Callable[[], World] | None = None,
    first_bar: int = 0,
) -> None:
    """Refuse a strategy whose earlier decisions change when later bars do, or from call to call.

    Args:
        strategy: What to ask; a fresh one each time.
        world: What it looks at.
        scaled: Returns the same bars with scaled features, where the world has none.
        first_bar: Bar of its first decision.

    Raises:
        DataError: Naming symbol and bar of the first decision that moved.
    """
    known = _decisions(strategy, WorldTables(world, scaled), first_bar, world.n_bars - 1)
    for cut in cuts_of(world.n_bars, first_bar):
        other = None if scaled is None else partial(_other, scaled, cut)
        tables = WorldTables(with_other_future(world, cut), other)
        found = _decisions(strategy, tables, first_bar, cut)
        before, after = known[:, : cut + 1], found[:, : cut + 1]
        moved = ~((before == after) | (np.isnan(before) & np.isnan(after)))
        if moved.any():
            bar = int(np.flatnonzero(moved.any(axis=0))[0])
            symbol = int(np.flatnonzero(moved[:, bar])[0])
            raise DataError(
                f"strategy {strategy.name} must not look ahead, nor change from call to call",
                was=f"{before[symbol, bar]:g}, then {after[symbol, bar]:g} with other bars later",
                where=f"{world.symbols[symbol]} at bar {bar}, {cut - bar} before the change",
                remedy="Use view arrays up to their last column only, and no state of your own",
            )


def cuts_of(n_bars: int, first_bar: int) -> Sequence[int]:
    """Return bars after which the future is changed: spread out, the last but one among them."""
    last = n_bars - 2
    if last <= first_bar:
        return ()
    return sorted({int(cut) for cut in np.linspace(first_bar, last, _CUTS)})


def _other(scaled: Callable[[], World], cut: int) -> World:
    return with_other_future(scaled(), cut)


def _decisions(
    strategy: DeclaredStrategy, tables: WorldTables, first_bar: int, last_bar: int
) -> FloatArray:
    """Return targets (N, T) of a strategy that holds nothing; NaN where it was not asked."""
    if strategy.vectorised:
        return vectorised_targets(strategy, tables)
    function, reel = strategy.build(), MarketReel(tables)
    found = np.full(tables.present.shape, np.nan)
    flat = np.zeros(len(tables.symbols))
    for bar in range(first_bar, last_bar + 1):
        where = f"strategy {strategy.name} at bar {bar}"
        found[:, bar] = read_targets(function(reel.view(bar, flat.copy())), flat, where)
    return found
