"""Rewards: named terms of one step, stacked with weights; their sum is the reward.

A new term is a formula in the file of its objective in `rewards/terms`, and a line in
`rewards/catalogue.py`. What each means:
`docs/environments/rewards.md`.
"""

from tradingbot.rewards.catalogue import register, registered_terms, reward_term
from tradingbot.rewards.inputs import RewardInputs, reward_inputs
from tradingbot.rewards.presets import REWARD_PRESETS, RewardConfig, reward_names, reward_preset
from tradingbot.rewards.shaping import Potential, PotentialShaping
from tradingbot.rewards.stack import RewardStack, reward_identity, reward_stack, sum_by_objective
from tradingbot.rewards.term import OBJECTIVES, Bounds, RewardTerm

__all__ = [
    "OBJECTIVES",
    "REWARD_PRESETS",
    "Bounds",
    "Potential",
    "PotentialShaping",
    "RewardConfig",
    "RewardInputs",
    "RewardStack",
    "RewardTerm",
    "register",
    "registered_terms",
    "reward_identity",
    "reward_inputs",
    "reward_names",
    "reward_preset",
    "reward_stack",
    "reward_term",
    "sum_by_objective",
]
