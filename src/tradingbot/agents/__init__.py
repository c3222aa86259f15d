"""Things that act: what a policy is, and the rules that learners are compared with."""

import typing

from tradingbot.domain.lazy_names import lazy_names as _lazy_names

if typing.TYPE_CHECKING:
    from tradingbot.agents.baselines.catalogue import RULES, rule_policy
    from tradingbot.agents.policy import Policy, PolicyInputs

__all__ = ["RULES", "Policy", "PolicyInputs", "rule_policy"]

__getattr__ = _lazy_names(
    __name__,
    {
        "RULES": "baselines.catalogue",
        "rule_policy": "baselines.catalogue",
        "Policy": "policy",
        "PolicyInputs": "policy",
    },
)
