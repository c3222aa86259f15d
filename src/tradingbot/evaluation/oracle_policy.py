"""Oracles as policies, for rollouts beside rules and learners; never for a learner to use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.agents.policy import Seen, settled
from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.domain.errors import DataError
from tradingbot.envs.world import World
from tradingbot.evaluation.oracle.action_rule import Information
from tradingbot.evaluation.oracle.targets import oracle_targets

ORACLES: Mapping[str, Information] = {
    "oracle": Information.ATTAINABLE,
    "omniscient": Information.OMNISCIENT,
}
"""Name of a policy → what it knows; the same on markets that hide nothing."""


@dataclass(frozen=True, eq=False)
class TargetTable:
    """Follows positions that were worked out before, one per symbol and bar."""

    targets: Tensor
    """(N · T,) by row of the market."""

    def __call__(self, seen: Seen) -> Tensor:
        """Return targets (B,)."""
        return settled(self.targets[seen.row].to(seen.size.dtype), seen.size)


def oracle_policy(
    market: SyntheticMarket, world: World, *, cost_frac: float, information: Information
) -> TargetTable:
    """Return the long-only policy of `oracle_for` on the bars of a world.

    Args:
        market: The generated market, latent state included.
        world: The same market as it is traded; symbols and bars may be fewer.
        cost_frac: Cost per unit of turnover.
        information: What the policy may know.

    Raises:
        ConfigError: If no oracle is known for the market.
        DataError: If the world has a symbol or a bar that the market does not have.
    """
    targets = oracle_targets(market, cost_frac=cost_frac, information=information)
    return TargetTable(torch.from_numpy(_on_world(market, world, targets).ravel()))


def _on_world(
    market: SyntheticMarket, world: World, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Lay values (T, N) of a market on the axes (N, T) of a world."""
    column = {symbol: index for index, symbol in enumerate(market.symbols)}
    clock = market.closed_at.astype("datetime64[us]").astype(np.int64)
    bar = np.searchsorted(clock, world.closed_at).clip(max=len(clock) - 1)
    if set(world.symbols) - set(column) or (clock[bar] != world.closed_at).any():
        raise DataError(
            "an oracle must know every symbol and bar of the world",
            was="one that its market does not have",
            where=world.label,
        )
    columns = np.array([column[symbol] for symbol in world.symbols])
    return np.ascontiguousarray(values[np.ix_(bar, columns)].T)
