"""The tensor market: a simulator of many accounts as pure functions on tensors.

`advance` is one bar; `simulation.step` adds reward, observation and reset. Semantics:
`docs/concepts/simulator.md`. No files, no clocks, no generators here.
"""

from tradingbot.market.params import AccountRules, ActionRules, EpisodeRules, SimulatorParams

__all__ = ["AccountRules", "ActionRules", "EpisodeRules", "SimulatorParams"]
