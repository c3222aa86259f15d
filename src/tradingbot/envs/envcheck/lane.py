"""One lane of the batched tensor simulator behind Gymnasium's interface, so that it can be checked.

Its neighbours act at random: what a lane is told must not depend on them. For training use the
vector environments, which step all lanes at once.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor

from tradingbot.domain.errors import UserError
from tradingbot.domain.seeding import stream
from tradingbot.envs.batch import BatchSimulator
from tradingbot.envs.batch.observation import as_arrays, lane_of
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.spaces import Info, ResetOptions, action_space, observation_space
from tradingbot.envs.world import World
from tradingbot.market.account import Account

N_LANES = 3
LANE = 1
"""The one that is shown; it has a neighbour on either side."""


class LaneEnv(gymnasium.Env[Any, Any]):
    """The middle lane of three, with float32 accounts, as they are trained.

    Info: `cash`, `equity`, `units`, `fill` (signed units at the open), `fill_price`, and
    `reward_terms` by name. At the end it shows the observation before the automatic reset.
    """

    def __init__(self, world: World, config: EnvConfig) -> None:
        self.simulator = BatchSimulator(world, config, N_LANES, compile=False)
        self.observation_space = observation_space(world, config)
        self.action_space = action_space(config.rules.action.space)
        self._names = config.reward_stack.names
        self._neighbours = stream(0, "neighbours")
        self._ended = True

    @property
    def units(self) -> float:
        """Units this lane holds."""
        return _of_lane(self.simulator.account.units)

    def reset(self, *, seed: int | None = None, options: ResetOptions = None) -> tuple[Any, Info]:
        """Begin an episode in every lane; the neighbours' actions go on from where they were."""
        super().reset(seed=seed)
        self.simulator.reset(seed)
        self._ended = False
        return lane_of(as_arrays(self.simulator.observe()), LANE), _describe(self.simulator.account)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step all lanes, this one by `action`.

        Raises:
            UserError: After the end of the episode.
        """
        if self._ended:
            raise UserError("an episode that ended must be reset", remedy="Call reset()")
        made = self.simulator.step(self._with_neighbours(action))
        terminated, truncated = bool(made.terminated[LANE]), bool(made.truncated[LANE])
        self._ended = terminated or truncated
        lanes = torch.tensor([LANE])
        observation = lane_of(as_arrays(self.simulator.observe_before_reset(made, lanes)), 0)
        fill = made.advanced.fill
        info = _describe(self.simulator.before_reset(made)) | {
            "fill": _of_lane(fill.units),
            "fill_price": _of_lane(fill.price),
            "reward_terms": dict(zip(self._names, made.terms[:, LANE].tolist(), strict=True)),
        }
        return observation, _of_lane(made.reward), terminated, truncated, info

    def _with_neighbours(self, action: Any) -> Tensor:
        if isinstance(self.action_space, gymnasium.spaces.Discrete):
            drawn = self._neighbours.integers(int(self.action_space.n), size=N_LANES)
        else:
            drawn = self._neighbours.uniform(-1.0, 1.0, N_LANES).astype(np.float32)
        actions = torch.from_numpy(drawn)
        actions[LANE] = torch.as_tensor(action).reshape(()).to(actions.dtype)
        return actions


def _describe(account: Account) -> dict[str, Any]:
    return {name: _of_lane(getattr(account, name)) for name in ("cash", "equity", "units")}


def _of_lane(values: Tensor) -> float:
    return float(values[LANE])
