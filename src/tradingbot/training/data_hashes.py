"""Hashes of what was generated in memory: there is no file whose bytes could be hashed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.envs.world import World


def world_sha256(world: World) -> str:
    """Hash what a run sees and trades of a world."""
    names = ("prices", "present", "features", "regimes", "probabilities", "closed_at")
    return _arrays_sha256((world.symbols, world.feature_names), world, names)


def bars_sha256(market: SyntheticMarket) -> str:
    """Hash what was generated: every symbol and day, whatever a run takes of them."""
    names = ("closed_at", "opens", "highs", "lows", "closes", "volumes")
    return _arrays_sha256(market.symbols, market, names)


def _arrays_sha256(words: tuple[object, ...], holder: object, names: Sequence[str]) -> str:
    digest = hashlib.sha256(repr(words).encode())
    for name in names:
        array = np.ascontiguousarray(getattr(holder, name))
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
