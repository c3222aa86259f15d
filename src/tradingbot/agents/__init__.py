"""Things that act: what a policy is, and the rules that learners are compared with."""

from tradingbot.agents.policy import Policy, Seen
from tradingbot.agents.rules.catalogue import RULES, rule_policy

__all__ = ["RULES", "Policy", "Seen", "rule_policy"]
