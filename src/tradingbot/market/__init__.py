"""The tensor market: a simulator of many accounts as pure functions on tensors.

`advance` is one bar; `simulation.step` adds reward, observation and reset. Semantics:
`docs/concepts/simulator.md`. No files, no clocks, no generators here.
"""

from tradingbot.market.account import Account, open_accounts
from tradingbot.market.advance import Advanced, advance, advance_order
from tradingbot.market.bars import Bar, TensorMarket, tensor_market
from tradingbot.market.costs import COST_PROFILES, CostProfile, CostRates, cost_profile
from tradingbot.market.params import AccountRules, ActionRules, EpisodeRules, SimulatorParams

__all__ = [
    "COST_PROFILES",
    "Account",
    "AccountRules",
    "ActionRules",
    "Advanced",
    "Bar",
    "CostProfile",
    "CostRates",
    "EpisodeRules",
    "SimulatorParams",
    "TensorMarket",
    "advance",
    "advance_order",
    "cost_profile",
    "open_accounts",
    "tensor_market",
]
