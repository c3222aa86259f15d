"""The scalar market: the simulator for one account in plain numbers, without tensors.

It follows `docs/concepts/simulator.md` independently of the batched one. No files, no clocks, no
generators here.
"""

from tradingbot.market.scalar.account import ScalarAccount, open_account
from tradingbot.market.scalar.actions import ScalarDecision, scalar_mask
from tradingbot.market.scalar.advance import ScalarAdvanced, ScalarBar, scalar_advance
from tradingbot.market.scalar.fill import ScalarFill

__all__ = [
    "ScalarAccount",
    "ScalarAdvanced",
    "ScalarBar",
    "ScalarDecision",
    "ScalarFill",
    "open_account",
    "scalar_advance",
    "scalar_mask",
]
