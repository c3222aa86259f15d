"""Reading actions: one file per action space, each a pure function from actions to decisions."""

from tradingbot.market.actions.continuous import decode_continuous
from tradingbot.market.actions.decision import Decision
from tradingbot.market.actions.discrete import action_mask, action_values, decode_discrete
from tradingbot.market.actions.target import decode_target

__all__ = [
    "Decision",
    "action_mask",
    "action_values",
    "decode_continuous",
    "decode_discrete",
    "decode_target",
]
