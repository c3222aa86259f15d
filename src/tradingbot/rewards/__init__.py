"""Rewards: named terms of one step, stacked with weights; their sum is the reward.

A new term is a formula in the file of its objective in `rewards/terms`, and a line in
`rewards/catalogue.py`. What each means:
`docs/environments/rewards.md`.
"""

from tradingbot.rewards.catalogue import register, registered_terms, reward_term
from tradingbot.rewards.inputs import RewardInputs
from tradingbot.rewards.presets import RewardConfig, reward_names, reward_preset
from tradingbot.rewards.shaping import PotentialShaping
from tradingbot.rewards.stack import RewardStack, reward_identity, reward_stack
from tradingbot.rewards.term import Bounds, RewardTerm

__all__ = [
    "Bounds",
    "PotentialShaping",
    "RewardConfig",
    "RewardInputs",
    "RewardStack",
    "RewardTerm",
    "register",
    "registered_terms",
    "reward_identity",
    "reward_names",
    "reward_preset",
    "reward_stack",
    "reward_term",
]
