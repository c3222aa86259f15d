"""What a rule does at every bar of a world, as classes to learn from."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.agents.policy import Policy, PolicyInputs
from tradingbot.envs.batch.observation import rows_of
from tradingbot.envs.world import World
from tradingbot.market.observation import PRIVATE_FEATURES

_NAMES = tuple(feature.name for feature in PRIVATE_FEATURES)


def expert_actions(world: World, policy: Policy) -> NDArray[np.int64]:
    """Follow a rule through every symbol of a world, from the first bar to the last.

    Positions begin flat and become what was asked for, at once and without costs; of its account
    a rule sees the position only, all else is 0. Action t needs nothing after bar t.

    Returns:
        (N, T) 0 sell, 1 hold, 2 buy at the close of bar t: `envs.auxiliary.EXPERT_ACTIONS`.
    """
    features, regimes = rows_of(world.features), rows_of(world.regimes)
    first_row = torch.arange(world.n_symbols) * world.n_bars
    actions = torch.ones(world.n_symbols, world.n_bars, dtype=torch.int64)
    private = torch.zeros(len(_NAMES), world.n_symbols, dtype=features.dtype)
    for bar in range(world.n_bars):
        row = first_row + bar
        held = private[_NAMES.index("size")]
        target = policy(PolicyInputs(row, features[row], regimes[row], private))
        actions[:, bar] += (target > held).long() - (target < held).long()
        private = private.clone()
        private[_NAMES.index("size")] = target
    return actions.numpy()
