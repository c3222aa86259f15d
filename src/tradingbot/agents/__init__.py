"""Things that act: what a policy is, and the rules that learners are compared with."""

from tradingbot.agents.baselines.catalogue import RULES, rule_policy
from tradingbot.agents.policy import Policy, PolicyInputs

__all__ = ["RULES", "Policy", "PolicyInputs", "rule_policy"]
