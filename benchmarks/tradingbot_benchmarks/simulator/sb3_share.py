"""How much of SB3 PPO's wall time the environments take: the learner should be what costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from tradingbot.domain.errors import MissingExtraError
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.sb3 import TradingVecEnv
from tradingbot.envs.world import World

R = TypeVar("R")


@dataclass(frozen=True)
class EnvironmentShare:
    """Wall time of a stretch of training, in which nothing was compiled or made."""

    n_envs: int
    env_steps: int
    """Environment steps of all lanes together."""
    environment_s: float
    """In `reset` and `step` of the environments, with observations and infos."""
    rollout_s: float
    """Collecting rollouts: environments, and the policy that acts in them."""
    total_s: float
    """All of it, with the updates."""

    @property
    def share_frac(self) -> float:
        """Environments' part of all wall time."""
        return self.environment_s / self.total_s

    @property
    def share_of_rollout_frac(self) -> float:
        """Environments' part of collecting alone, which no choice of epochs can flatter."""
        return self.environment_s / self.rollout_s


class TimedVecEnv(TradingVecEnv):
    """A `TradingVecEnv` that knows how long it has worked."""

    spent_s = 0.0

    def reset(self) -> Any:
        """Reset, timed."""
        return self._timed(super().reset)

    def step(self, actions: Any) -> Any:
        """Step, timed."""
        return self._timed(super().step, actions)

    def _timed(self, function: Callable[..., R], *given: Any) -> R:
        began_s = time.perf_counter()
        result = function(*given)
        self.spent_s += time.perf_counter() - began_s
        return result


def environment_share(
    world: World,
    *,
    n_envs: int = 1024,
    n_steps: int = 32,
    n_rollouts: int = 2,
    batch_size: int = 2048,
    n_epochs: int = 10,
    compile: bool | Literal["auto"] = "auto",
) -> EnvironmentShare:
    """Train SB3's PPO with its default network, and tell who took the time.

    One rollout before the clock starts warms everything up.

    Args:
        world: What is traded.
        n_envs: Lanes.
        n_steps: Steps of each lane per rollout.
        n_rollouts: Rollouts, with their updates, that are timed.
        batch_size: Of an update. SB3's own default of 64 makes the learner slower still.
        n_epochs: Passes over a rollout; SB3's default.
        compile: Compile the step of the environments.

    Raises:
        MissingExtraError: If SB3 is not installed.
    """
    try:
        from stable_baselines3 import PPO
        from stable_baselines3.common.callbacks import BaseCallback
    except ImportError as e:
        raise MissingExtraError("train", package="stable_baselines3") from e

    class RolloutClock(BaseCallback):
        spent_s = began_s = 0.0

        def _on_rollout_start(self) -> None:
            self.began_s = time.perf_counter()

        def _on_rollout_end(self) -> None:
            self.spent_s += time.perf_counter() - self.began_s

        def _on_step(self) -> bool:
            return True

    env = TimedVecEnv(world, EnvConfig(observation="flat"), n_envs, compile=compile)
    per_rollout = n_envs * n_steps
    learner = PPO(
        "MlpPolicy",
        env,
        n_steps=n_steps,
        batch_size=batch_size,
        n_epochs=n_epochs,
        seed=0,
        device="cpu",
    )
    learner.learn(per_rollout)
    env.spent_s, clock = 0.0, RolloutClock()
    began_s = time.perf_counter()
    learner.learn(n_rollouts * per_rollout, callback=clock, reset_num_timesteps=False)
    total_s = time.perf_counter() - began_s
    return EnvironmentShare(n_envs, n_rollouts * per_rollout, env.spent_s, clock.spent_s, total_s)
