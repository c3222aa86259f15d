"""Worlds side by side, so that one simulation trades them all: copies of a market, or placebos.

Accounts count in shares of their capital, so ten times the capital is a tenth of the volume: what
it fills, and what it pushes the price, are the same. Only the smallest trade does not grow with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from tradingbot.agents.policy import Policy, PolicyInputs
from tradingbot.data.splits import IndexRange
from tradingbot.envs.world import World, cut_world

_ARRAYS = ("prices", "present", "features", "regimes", "probabilities", "usable")


def side_by_side(worlds: Sequence[World], sign: str = "·") -> World:
    """Join worlds of the same symbols and bars; symbol k · N + n is n's in world k."""
    symbols = (f"{name} {sign} {k}" for k, world in enumerate(worlds) for name in world.symbols)
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(world, name) for world in worlds]) for name in _ARRAYS
    }
    return replace(worlds[0], symbols=tuple(symbols), vwap=None, **arrays)


def copies_by_depth(world: World, bars: IndexRange, depths: Sequence[float]) -> World:
    """Return K copies of some bars, volumes multiplied by each depth; symbol k · N + n is n's.

    Args:
        world: N symbols.
        bars: Which are kept.
        depths: K factors of volume, above 0.
    """
    cut = cut_world(world, bars.start, bars.stop - 1)
    copies = side_by_side([cut] * len(depths), "×")
    prices = copies.prices.copy()
    prices[..., 4] *= np.repeat(np.asarray(depths), cut.n_symbols)[:, None]
    return replace(copies, prices=prices)


def on_copies(policy: Policy, world: World, bars: IndexRange) -> Policy:
    """Return a policy of a world's rows as one of the rows of `copies_by_depth`."""
    n_symbols, n_bars, length = world.n_symbols, world.n_bars, len(bars)

    def act(seen: PolicyInputs) -> Tensor:
        symbol, bar = (seen.row // length) % n_symbols, seen.row % length
        return policy(seen._replace(row=symbol * n_bars + bars.start + bar))

    return act
