"""`gymnasium.vector.VectorEnv` over a batch: all environments move in one call."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import UserError
from tradingbot.envs.batch import BatchSimulator
from tradingbot.envs.batch.observation import ArrayObservation, as_arrays, lane_of
from tradingbot.envs.config import EnvConfig, read_config
from tradingbot.envs.registration import default_world
from tradingbot.envs.spaces import action_space, observation_space
from tradingbot.envs.world import World
from tradingbot.market.params import ActionSpace

Flags = NDArray[np.bool_]
VectorStep = tuple[ArrayObservation, NDArray[np.float64], Flags, Flags, dict[str, Any]]


class TradingVectorEnv(VectorEnv[Any, Any, Any]):
    """B environments that reset themselves in the step in which they end.

    The observation a step returns is then the first of the next episode; the last of the old one is
    in `infos["final_obs"]`, and what is known of its account in `infos["final_info"]`, both as
    Gymnasium defines them for `AutoresetMode.SAME_STEP`.

    `infos` of every step: `equity` (B,) in account currency, after the reset where there was one,
    and `reward_terms` (B, K), weighted, which sum to the reward. `reset` adds `fill_at` (B,).
    """

    def __init__(
        self,
        world: World,
        config: EnvConfig | str | None = None,
        num_envs: int = 1,
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        compile: bool | Literal["auto"] = "auto",
    ) -> None:
        """Make the environments; see `BatchSimulator` for the arguments."""
        config = read_config(config)
        self.simulator = BatchSimulator(
            world, config, num_envs, device=device, dtype=dtype, compile=compile
        )
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}
        self.num_envs = num_envs
        self._every = np.ones(num_envs, dtype=np.bool_)
        self._every.flags.writeable = False  # it is handed out at every step, and never copied
        self._none = np.zeros(num_envs, dtype=np.bool_)
        self.single_observation_space = observation_space(world, config)
        self.single_action_space = action_space(config.rules.action.space)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ArrayObservation, dict[str, Any]]:
        """Begin an episode in every environment.

        Args:
            seed: Root of all starts, one whole number: environments differ by their place, so a
                list is refused. None goes on to the next episodes.
            options: Must be empty: an option that is ignored would be a lie.

        Raises:
            UserError: If there are options, or the seed is not one whole number.
        """
        if options:
            raise UserError("options must be empty", was=repr(next(iter(options))))
        self.simulator.reset(seed)
        observation: ArrayObservation = as_arrays(self.simulator.observe())
        fill_at = self.simulator.config.rules.episode.fill_at
        told = {"equity": _array(self.simulator.account.equity)}
        return observation, self._for_all(told | {"fill_at": np.full(self.num_envs, fill_at)})

    def step(self, actions: NDArray[np.generic] | Tensor) -> VectorStep:
        """Step every environment by one bar; actions (B,) or (B, 1)."""
        simulator = self.simulator
        n_ended = simulator.step_arrays(actions)
        made, every = simulator.arrays, self._every
        terminated, truncated = self._none.copy(), self._none.copy()
        infos: dict[str, Any] = {
            "equity": made.equity.copy(),
            "reward_terms": made.terms.copy().T,
            "_equity": every,
            "_reward_terms": every,
        }
        if n_ended:
            terminated[:], truncated[:], _ = made.flags
            infos |= self._final_infos(terminated | truncated)
        reward = made.reward.astype(np.float64)
        return simulator.observe_array(), reward, terminated, truncated, infos

    def action_masks(self) -> Flags:
        """Return which codes each environment is allowed, as `BatchSimulator`; (B, 7)."""
        return _array(self.simulator.action_masks())

    def _for_all(self, infos: dict[str, Any]) -> dict[str, Any]:
        """Mark infos as known of every environment, as Gymnasium does."""
        return infos | {f"_{name}": self._every for name in infos}

    def _final_infos(self, ended: Flags) -> dict[str, Any]:
        lanes = np.flatnonzero(ended)
        last = self.simulator.final_observation(lanes)
        observations = np.full(self.num_envs, None, dtype=object)
        for place, lane in enumerate(lanes):
            observations[lane] = lane_of(last, place)
        known = self.simulator.arrays.final_numbers()
        final = {name: np.where(ended, value, 0) for name, value in known.items()}
        masks = {f"_{name}": ended for name in known}
        return {
            "final_obs": observations,
            "_final_obs": ended,
            "final_info": final | masks,
            "_final_info": ended,
        }


def make_vector_env(
    space: ActionSpace,
    num_envs: int = 1,
    world: World | None = None,
    config: EnvConfig | str | None = None,
    **options: Any,
) -> TradingVectorEnv:
    """Make the environments of an id; what `gymnasium.make_vec` calls.

    Args:
        space: Fixed by the id; stronger than what `config` says.
        num_envs: B.
        world: What is traded; `default_world()` by default.
        config: A configuration or the name of a preset.
        **options: `device`, `dtype` and `compile` of `BatchSimulator`.
    """
    chosen = read_config(config).with_space(space)
    chosen_world = default_world() if world is None else world
    return TradingVectorEnv(chosen_world, chosen, num_envs, **options)


def _array(values: Tensor) -> NDArray[Any]:
    return values.numpy(force=True)
