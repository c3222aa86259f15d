"""A world whose bars after a cut are others: what was decided before must not change by one bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tradingbot.envs.world import World

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
