"""Proximal policy optimisation of N agents at once; see docs/algorithms/ppo.md."""

from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.ppo.learner import PPO

__all__ = ["PPO", "PPOConfig"]
