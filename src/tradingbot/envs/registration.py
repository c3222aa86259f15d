"""The names under which Gymnasium finds the environments of one account."""

from __future__ import annotations

from functools import lru_cache

import gymnasium as gym

from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig, read_config
from tradingbot.envs.single import RenderMode, TradingEnv
from tradingbot.envs.world import World
from tradingbot.market.params import ActionSpace

ENV_IDS: dict[str, ActionSpace] = {
    "TradingBot/Continuous-v1": "continuous",
    "TradingBot/Target-v1": "target",
    "TradingBot/Discrete-v1": "discrete",
}
VARIANT_IDS: dict[str, str] = {
    "TradingBot/Hybrid-v1": "tradingbot.envs.hybrid:make_hybrid_env",
    "TradingBot/Goal-v1": "tradingbot.envs.goal:make_goal_env",
    "TradingBot/Curriculum-v1": "tradingbot.envs.curriculum.env:CurriculumEnv",
}
"""Environments with arguments of their own: id → where they are made."""


@lru_cache(maxsize=1)
def default_world() -> World:
    """The market of an environment that was made without one: synthetic, small, always the same."""
    return synthetic_world("regimes", n_symbols=4, n_bars=2_000, seed=7)


def make_env(
    space: ActionSpace,
    world: World | None = None,
    config: EnvConfig | str | None = None,
    *,
    render_mode: RenderMode | None = None,
) -> TradingEnv:
    """Make the environment of an id; what `gymnasium.make` calls.

    Args:
        space: Fixed by the id; stronger than what `config` says.
        world: What is traded; `default_world()` by default.
        config: A configuration or the name of a preset.
        render_mode: What `render` returns.
    """
    chosen = read_config(config).with_space(space)
    chosen_world = default_world() if world is None else world
    return TradingEnv(chosen_world, chosen, render_mode=render_mode)


def register_environments() -> None:
    """Tell Gymnasium the ids; once is enough, again does no harm."""
    for env_id, space in ENV_IDS.items():
        if env_id not in gym.registry:
            gym.register(
                env_id,
                entry_point="tradingbot.envs.registration:make_env",
                vector_entry_point="tradingbot.envs.vector:make_vector_env",
                kwargs={"space": space},
            )
    for env_id, entry_point in VARIANT_IDS.items():
        if env_id not in gym.registry:
            gym.register(env_id, entry_point=entry_point)
