"""Environments: the tensor market behind the interfaces that people use.

Importing this package makes `TradingBot/Continuous-v1`, `TradingBot/Target-v1` and
`TradingBot/Discrete-v1` known to Gymnasium. Interfaces that need an extra (SB3, PettingZoo) are in
modules of their own.
"""

from tradingbot.envs.build_world import synthetic_world, world_from_bars, world_from_panel
from tradingbot.envs.config import ENV_PRESETS, EnvConfig
from tradingbot.envs.registration import register_environments
from tradingbot.envs.single import TradingEnv
from tradingbot.envs.world import World, cut_world, select_symbols

__all__ = [
    "ENV_PRESETS",
    "EnvConfig",
    "TradingEnv",
    "World",
    "cut_world",
    "register_environments",
    "select_symbols",
    "synthetic_world",
    "world_from_bars",
    "world_from_panel",
]

register_environments()
