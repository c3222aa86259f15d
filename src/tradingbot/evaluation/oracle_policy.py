"""Oracles as policies, for rollouts beside rules and learners; never for a learner to use."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tradingbot.agents.baselines.target_table import TargetTable, table_of
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
    return table_of(_on_world(market, world, targets))


def _on_world(
    market: SyntheticMarket, world: World, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Lay values (T, N) of a market on the axes (N, T) of a world."""
    column = {symbol: index for index, symbol in enumerate(market.symbols)}
    clock = market.closed_at.astype("datetime64[us]").astype(np.int64)
    bar = np.searchsorted(clock, world.closed_at).clip(max=len(clock) - 1)
    if set(world.symbols) - set(column) or (clock[bar] != world.closed_at).any():
        rule = "an oracle must know every symbol and bar of the world"
        raise DataError(rule, was="one that its market does not have", where=world.label)
    columns = np.array([column[symbol] for symbol in world.symbols])
    return np.ascontiguousarray(values[np.ix_(bar, columns)].T)
