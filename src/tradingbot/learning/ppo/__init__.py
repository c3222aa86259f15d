"""Proximal policy optimisation of N agents at once; see docs/algorithms/ppo.md."""

import typing

from tradingbot.domain.lazy_names import lazy_names as _lazy_names

if typing.TYPE_CHECKING:
    from tradingbot.learning.ppo.config import PPOConfig
    from tradingbot.learning.ppo.learner import PPO

__all__ = ["PPO", "PPOConfig"]

__getattr__ = _lazy_names(__name__, {"PPO": "learner", "PPOConfig": "config"})
