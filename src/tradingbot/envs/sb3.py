"""Stable-Baselines3's `VecEnv` over a batch: every algorithm of SB3 and sb3-contrib runs on it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import MissingExtraError, UserError
from tradingbot.envs.batch import BatchSimulator
from tradingbot.envs.batch.layout import EngineOptions
from tradingbot.envs.batch.observation import as_arrays, lane_of
from tradingbot.envs.config import EnvConfig, read_config
from tradingbot.envs.spaces import action_space, observation_space
from tradingbot.envs.world import World

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env.base_vec_env import (
        VecEnv,
        VecEnvIndices,
        VecEnvObs,
        VecEnvStepReturn,
    )
except ImportError as e:
    raise MissingExtraError("train", package="stable_baselines3") from e

_MASKS = "action_masks"


class TradingVecEnv(VecEnv):
    """B environments for SB3; where one ends it begins anew in the same step.

    `infos[lane]` is empty but for lanes that ended: `terminal_observation` (before the reset),
    `TimeLimit.truncated`, and `episode` {r, l, t} as SB3's Monitor writes it, so no `VecMonitor`
    is needed. `reset_infos[lane]` has `fill_at`.
    """

    def __init__(
        self,
        world: World,
        config: EnvConfig | str | None = None,
        n_envs: int = 1,
        **engine: Unpack[EngineOptions],
    ) -> None:
        """Make the environments; see `BatchSimulator` for the arguments.

        Observations are flat unless a configuration says otherwise: `MlpPolicy` wants them so.
        """
        config = EnvConfig(observation="flat") if config is None else read_config(config)
        self.simulator = BatchSimulator(world, config, n_envs, **engine)
        self.render_mode: str | None = None
        self._actions: NDArray[Any] | None = None
        self._began_s = time.perf_counter()
        self._none = np.zeros(n_envs, dtype=np.bool_)
        actions = action_space(config.rules.action.space)
        super().__init__(n_envs, observation_space(world, config), actions)

    def reset(self) -> VecEnvObs:
        """Begin an episode in every lane; the seed is that of `seed`, else the next episodes."""
        self.simulator.reset(self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        self.simulator.reward_sums[:] = 0.0
        self._actions = None
        fill_at = self.simulator.config.rules.episode.fill_at
        self.reset_infos = [{"fill_at": fill_at} for _ in range(self.num_envs)]
        observation: VecEnvObs = as_arrays(self.simulator.observe())
        return observation

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """Refuse options of reset: there is none, and one that is ignored would be a lie.

        Raises:
            UserError: If there is any.
        """
        given = options if isinstance(options, list) else [options]
        for option in given:
            if option:
                raise UserError("options must be empty", was=repr(option), where="set_options")

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take the actions (B,) or (B, 1) of the next step."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Step every lane: observation, reward (B,) float32, ended (B,) and infos."""
        if self._actions is None:
            raise UserError("step_async must be called before step_wait", where="TradingVecEnv")
        actions, self._actions = self._actions, None
        return self.step(actions)

    def step(self, actions: NDArray[Any]) -> VecEnvStepReturn:
        """Do as `step_async` and `step_wait`."""
        n_ended = self.simulator.step_arrays(actions)
        made = self.simulator.arrays
        rewards = made.reward.astype(np.float32)
        ended = made.flags[0] | made.flags[1] if n_ended else self._none.copy()
        # One dict each, although most stay empty: wrappers write into them.
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if n_ended:
            self._report_ends(made.flags[1], np.flatnonzero(ended), infos)
        return self.simulator.observe_array(), rewards, ended, infos

    def _report_ends(
        self, truncated: NDArray[np.bool_], lanes: NDArray[np.intp], infos: list[dict[str, Any]]
    ) -> None:
        last = self.simulator.final_observation(lanes)
        lengths = self.simulator.arrays.final_numbers()["steps"]
        elapsed_s = round(time.perf_counter() - self._began_s, 6)
        for place, lane in enumerate(lanes):
            infos[lane] = {
                "terminal_observation": lane_of(last, place),
                "TimeLimit.truncated": bool(truncated[lane]),
                "episode": {
                    "r": float(self.simulator.reward_sums[lane]),
                    "l": int(lengths[lane]),
                    "t": elapsed_s,
                },
            }
        self.simulator.reward_sums[lanes] = 0.0

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which codes each lane is allowed, as `BatchSimulator`; (B, 7)."""
        return self.simulator.action_masks().numpy(force=True)

    def close(self) -> None:
        """Nothing is held but memory."""

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of this environment once per lane; all lanes share it."""
        if attr_name == _MASKS and self.simulator.config.rules.action.space != "discrete":
            raise AttributeError("action_masks exist for discrete actions only")
        value = getattr(self, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Refuse: lanes have no attributes of their own."""
        raise AttributeError(
            f"{attr_name} cannot be set lane by lane; make another TradingVecEnv, "
            "or change costs with simulator.set_costs"
        )

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """Call `action_masks` for some lanes; no other method belongs to a single lane."""
        if method_name != _MASKS:
            raise AttributeError(f"a lane has the method action_masks only, not {method_name}")
        masks = self.action_masks()
        lanes: Iterable[int] = self._get_indices(indices)
        return [masks[lane] for lane in lanes]

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        """Say yes to `Monitor`, whose statistics lanes report, and no to any other wrapper."""
        return [wrapper_class is Monitor for _ in self._get_indices(indices)]

    def get_images(self) -> list[NDArray[np.uint8] | None]:
        """Return no picture; `TradingEnv` draws them."""
        return [None for _ in range(self.num_envs)]
