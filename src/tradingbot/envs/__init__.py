"""Environments: the tensor market behind the interfaces that people use.

Importing this package makes `TradingBot/Continuous-v1`, `TradingBot/Target-v1` and
`TradingBot/Discrete-v1` known to Gymnasium. Interfaces that need an extra (SB3, PettingZoo) are in
modules of their own.
"""

from tradingbot.envs.build_world import synthetic_world, world_from_bars, world_from_panel
from tradingbot.envs.config import ENV_PRESETS, EnvConfig, start_mask
from tradingbot.envs.registration import ENV_IDS, default_world, register_environments
from tradingbot.envs.single import TradingEnv
from tradingbot.envs.spaces import action_space, dict_space, flat_space, flatten, flatten_layout
from tradingbot.envs.world import World, cut_world, select_symbols, symbol_index

__all__ = [
    "ENV_IDS",
    "ENV_PRESETS",
    "EnvConfig",
    "TradingEnv",
    "World",
    "action_space",
    "cut_world",
    "default_world",
    "dict_space",
    "flat_space",
    "flatten",
    "flatten_layout",
    "register_environments",
    "select_symbols",
    "start_mask",
    "symbol_index",
    "synthetic_world",
    "world_from_bars",
    "world_from_panel",
]

register_environments()
