"""Copies of one market side by side, each with another depth: many capitals in one simulation.

Accounts count in shares of their capital, so ten times the capital is a tenth of the volume: what
it fills, and what it pushes the price, are the same. Only the smallest trade does not grow with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor

from tradingbot.agents.policy import Policy, PolicyInputs
from tradingbot.data.splits import IndexRange
from tradingbot.envs.world import World, cut_world


def copies_by_depth(world: World, bars: IndexRange, depths: Sequence[float]) -> World:
    """Return K copies of some bars, volumes multiplied by each depth; symbol k · N + n is n's.

    Args:
        world: N symbols.
        bars: Which are kept.
        depths: K factors of volume, above 0.
    """
    cut = cut_world(world, bars.start, bars.stop - 1)
    prices = np.concatenate([cut.prices] * len(depths))
    prices[..., 4] *= np.repeat(np.asarray(depths), cut.n_symbols)[:, None]

    def repeated(values: np.ndarray) -> np.ndarray:
        return np.concatenate([values] * len(depths))

    return replace(
        cut,
        symbols=tuple(f"{name} × {k}" for k in range(len(depths)) for name in cut.symbols),
        prices=prices,
        present=repeated(cut.present),
        features=repeated(cut.features),
        regimes=repeated(cut.regimes),
        probabilities=repeated(cut.probabilities),
        usable=repeated(cut.usable),
        vwap=None,
    )


def on_copies(policy: Policy, world: World, bars: IndexRange) -> Policy:
    """Return a policy of a world's rows as one of the rows of `copies_by_depth`."""
    n_symbols, n_bars, length = world.n_symbols, world.n_bars, len(bars)

    def act(seen: PolicyInputs) -> Tensor:
        symbol, bar = (seen.row // length) % n_symbols, seen.row % length
        return policy(seen._replace(row=symbol * n_bars + bars.start + bar))

    return act
