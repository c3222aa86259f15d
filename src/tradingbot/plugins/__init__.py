"""Parts of one's own without a fork: declaring them, and loading the files that declare them.

Nothing here imports tensors, frames or configuration: a plugin that declares a strategy is read in
milliseconds, so that unknown names are refused at once.
"""

from tradingbot.plugins.declaration import DeclaredReward, DeclaredStrategy
from tradingbot.plugins.declaring import baseline, feature, reward_term, strategy
from tradingbot.plugins.loading import load_installed, load_plugin, loaded_plugins

__all__ = [
    "DeclaredReward",
    "DeclaredStrategy",
    "baseline",
    "feature",
    "load_installed",
    "load_plugin",
    "loaded_plugins",
    "reward_term",
    "strategy",
]
